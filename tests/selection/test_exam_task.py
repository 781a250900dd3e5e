from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from pydantic import ValidationError

from take.errors import InputError
from take.rows.blocks import ArrayBlocks
from take.rows.labelled import LabelledRows
from take.selection.exam.search import SearchState
from take.selection.exam.task import ExamTask, best_rows, draw_rows
from take.selection.selection_settings import ExamSettings
from take.text.related import RelatedRows


def make_rows(n: int, seed: int, n_classes: int = 3) -> LabelledRows:
    """Classes that overlap in vectors and words, in no order."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(0).standard_normal((n_classes, 10)) * 0.6
    labels = rng.permutation(np.arange(n) % n_classes)
    phi = centres[labels] + rng.standard_normal((n, 10))
    phi /= np.linalg.norm(phi, axis=1, keepdims=True)
    words = rng.integers(0, 40, size=(n, 6))
    words[:, 0] = labels * 3 + rng.integers(0, 3, size=n)
    texts = [" ".join(f"w{i:02d}" for i in row) for row in words]
    return LabelledRows(ArrayBlocks(phi.astype(np.float32)), [texts], labels, rng.random(n))


@pytest.fixture(scope="module")
def task() -> ExamTask:
    pool, exam = make_rows(150, 1), make_rows(300, 2)
    start = [np.flatnonzero(pool.labels == label)[:4] for label in range(3)]
    return ExamTask(pool, exam, make_rows(300, 3), start, exam.texts)


def test_the_rows_chosen_train_better_models_than_the_start(task):
    result = best_rows(task, ExamSettings())
    assert result.after.loss < result.before.loss
    assert result.after.accuracy > result.before.accuracy + 0.02
    before = np.mean(list(result.independent_before.values()))
    assert np.mean(list(result.independent_after.values())) > before + 0.02
    for label, rows in enumerate(result.rows):
        assert len(np.unique(rows)) == 4
        assert (task.pool.labels[rows] == label).all()


def test_every_surrogate_can_be_used_alone(task):
    for name in ("phi", "tfidf", "joint", "centred", "words"):
        result = best_rows(task, ExamSettings(surrogates=(name,)))
        assert result.after.loss < result.before.loss, name


def test_a_saved_state_resumes_to_the_same_rows(task):
    saved: list[SearchState] = []
    options = ExamSettings(max_sweeps=4, patience=9)
    whole = best_rows(task, options, on_sweep=saved.append)
    resumed = best_rows(task, options, state=saved[1])
    assert [r.tolist() for r in resumed.rows] == [r.tolist() for r in whole.rows]
    other = replace(task, start=[rows[::-1][:3] for rows in task.start])
    with pytest.raises(InputError, match="saved state was made from other rows"):
        best_rows(other, options, state=saved[1])


def test_exam_and_validation_rows_are_disjoint_and_exclude_other_rows():
    related = RelatedRows([(f"film {n}",) for n in range(1000)])
    few = ExamSettings(exam_rows=300, validation_rows=200)
    drawn_rows = draw_rows(np.arange(100, 1000), related, few)
    (exam,), validation, fresh = drawn_rows
    assert (len(exam), len(validation), len(fresh)) == (300, 200, 0)
    drawn = np.concatenate([exam, validation])
    assert len(np.unique(drawn)) == 500
    assert drawn.min() >= 100
    several = draw_rows(np.arange(100, 1000), related, few, fresh=100, searches=3)
    apart = [np.unique(np.concatenate(several.exam)), several.validation, several.fresh]
    assert [len(rows) for rows in several.exam] == [300] * 3
    assert len(apart[0]) > 450  # each search has exam rows of its own
    assert len(np.unique(np.concatenate(apart))) == sum(map(len, apart))
    assert several.validation.tolist() == validation.tolist()
    with pytest.raises(InputError, match="3 training rows are left"):
        draw_rows(np.arange(97, 100), related, ExamSettings())


def test_no_exam_row_contains_or_lies_in_a_validation_row():
    """Of three rows, the second is a part of the first, and the third a part of the second."""
    texts = [" ".join(f"m{n // 3}{letter}" for letter in "abcde"[n % 3 :]) for n in range(900)]
    related = RelatedRows([(text,) for text in texts])
    few = ExamSettings(exam_rows=500, validation_rows=200)
    drawn = draw_rows(np.arange(900), related, few, fresh=100, searches=2)
    kinds = [np.concatenate(drawn.exam), drawn.validation, drawn.fresh]
    assert min(map(len, kinds)) >= 40
    families = [{n // 3 for n in rows.tolist()} for rows in kinds]
    assert sum(map(len, families)) == len(set.union(*families))


def test_bad_tasks_are_refused_before_anything_is_computed(task):
    with pytest.raises(InputError, match="start of class 1"):
        replace(task, start=[task.start[0], task.start[0], task.start[2]])
    with pytest.raises(InputError, match="start of class 0"):
        replace(task, start=[np.array([999]), *task.start[1:]])
    empty = np.empty(0, dtype=np.int64)
    with pytest.raises(InputError, match="fewer than two classes"):
        replace(task, start=[task.start[0], empty, empty])
    with pytest.raises(InputError, match="validation rows: .*texts"):
        replace(task, validation=replace(task.validation, texts=[["one"]]))
    pool = make_rows(40, 1, n_classes=2)
    start = [np.flatnonzero(pool.labels == label)[:2] for label in range(2)]
    with pytest.raises(InputError, match="exam rows: label 2"):
        replace(task, pool=pool, start=start)
    with pytest.raises(InputError, match="weights of shape"):
        replace(task, exam=replace(task.exam, weights=np.zeros(300)))


@pytest.mark.parametrize(
    "bad",
    [{"surrogates": ("phi", "phi")}, {"surrogates": ()}, {"ridge_grid": (0,)}, {"sweeps": 1}],
)
def test_bad_settings_are_refused(bad):
    with pytest.raises(ValidationError):
        ExamSettings(**bad)
