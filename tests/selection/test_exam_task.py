from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from pydantic import ValidationError

from take.errors import InputError
from take.selection.exam.search import SearchState
from take.selection.exam.task import ExamRows, ExamTask, best_taught, draw_parts
from take.selection.selection_settings import ExamSettings


def make_rows(n: int, seed: int, n_classes: int = 3) -> ExamRows:
    """Classes that overlap in vectors and words, in no order."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(0).standard_normal((n_classes, 10)) * 0.6
    labels = rng.permutation(np.arange(n) % n_classes)
    phi = centres[labels] + rng.standard_normal((n, 10))
    phi /= np.linalg.norm(phi, axis=1, keepdims=True)
    words = rng.integers(0, 40, size=(n, 6))
    words[:, 0] = labels * 3 + rng.integers(0, 3, size=n)
    texts = [" ".join(f"w{i:02d}" for i in row) for row in words]
    return ExamRows(phi.astype(np.float32), [texts], labels, rng.random(n))


@pytest.fixture(scope="module")
def task() -> ExamTask:
    pool, examined = make_rows(150, 1), make_rows(300, 2)
    start = [np.flatnonzero(pool.labels == label)[:4] for label in range(3)]
    return ExamTask(pool, examined, make_rows(300, 3), start, examined.texts)


def test_the_rows_chosen_teach_better_than_the_start(task):
    result = best_taught(task, ExamSettings())
    assert result.after.loss < result.before.loss
    assert result.after.accuracy > result.before.accuracy + 0.02
    before = np.mean([m.accuracy for m in result.outside_before])
    assert np.mean([m.accuracy for m in result.outside_after]) > before + 0.02
    for label, rows in enumerate(result.rows):
        assert len(np.unique(rows)) == 4
        assert (task.pool.labels[rows] == label).all()


def test_every_member_can_sit_alone(task):
    for member in ("phi", "tfidf", "joint", "centred", "gaussian"):
        result = best_taught(task, ExamSettings(members=(member,)))
        assert result.after.loss < result.before.loss, member


def test_a_saved_state_goes_on_to_the_same_rows(task):
    saved: list[SearchState] = []
    options = ExamSettings(max_sweeps=4, patience=9)
    whole = best_taught(task, options, on_sweep=saved.append)
    resumed = best_taught(task, options, state=saved[1])
    assert [r.tolist() for r in resumed.rows] == [r.tolist() for r in whole.rows]
    other = replace(task, start=[rows[::-1][:3] for rows in task.start])
    with pytest.raises(InputError, match="saved state was made from other rows"):
        best_taught(other, options, state=saved[1])


def test_coverage_brings_the_rows_nearer(task):
    def cost(rows):
        phi, nearest = task.watched.phi, []
        for label, mine in enumerate(rows):
            apart = 2 - 2 * phi[task.watched.labels == label] @ task.pool.phi[mine].T
            nearest.append(apart.min(axis=1))
        return np.concatenate(nearest).mean()

    plain, covered = (
        best_taught(task, ExamSettings(coverage=beta, patience=9)).found.state
        for beta in (0.0, 3.0)
    )
    order = np.argsort(task.pool.labels, kind="stable")
    by_class = [
        [order[s.rows[task.pool.labels[order[s.rows]] == c]] for c in range(3)]
        for s in (plain, covered)
    ]
    assert cost(by_class[1]) < cost(by_class[0]) - 0.02


def test_exam_and_watched_rows_are_apart_and_leave_the_excluded_alone():
    parts = draw_parts(np.arange(100, 1000), ExamSettings(exam_rows=300, validation_rows=200))
    assert (len(parts.exam), len(parts.watched)) == (300, 200)
    drawn = np.concatenate([parts.exam, parts.watched])
    assert len(np.unique(drawn)) == 500
    assert drawn.min() >= 100
    with pytest.raises(InputError, match="3 train rows are left"):
        draw_parts(np.arange(97, 100), ExamSettings())


def test_bad_tasks_are_refused_before_anything_is_computed(task):
    with pytest.raises(InputError, match="start of class 1"):
        replace(task, start=[task.start[0], task.start[0], task.start[2]])
    with pytest.raises(InputError, match="start of class 0"):
        replace(task, start=[np.array([999]), *task.start[1:]])
    empty = np.empty(0, dtype=np.int64)
    with pytest.raises(InputError, match="fewer than two classes"):
        replace(task, start=[task.start[0], empty, empty])
    with pytest.raises(InputError, match="watched rows: .*texts"):
        replace(task, watched=replace(task.watched, texts=[["one"]]))
    pool = make_rows(40, 1, n_classes=2)
    start = [np.flatnonzero(pool.labels == label)[:2] for label in range(2)]
    with pytest.raises(InputError, match="examined rows: label 2"):
        replace(task, pool=pool, start=start)
    with pytest.raises(InputError, match="weights of shape"):
        replace(task, examined=replace(task.examined, weights=np.zeros(300)))


@pytest.mark.parametrize(
    "bad",
    [{"members": ("phi", "phi")}, {"members": ()}, {"coverage": -1}, {"ridge": 0}, {"sweeps": 1}],
)
def test_bad_settings_are_refused(bad):
    with pytest.raises(ValidationError):
        ExamSettings(**bad)
