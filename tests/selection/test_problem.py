from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from take.blocks import ArrayBlocks
from take.encoder.embeddings import Embeddings, MappedVectors
from take.errors import InputError
from take.selection.problem import (
    ClassProblem,
    SubsetBlocks,
    class_problems,
    global_problem,
    rows_at,
)
from take.selection.registry import SELECTORS, selector
from take.selection.settings import SelectionSettings

ROWS = np.arange(400, dtype=np.float32).reshape(200, 2)


@given(index=st.lists(st.integers(0, 199), max_size=60), start=st.integers(0, 60))
def test_a_subset_reads_what_indexing_would(index, start):
    chosen = np.array(index, dtype=np.int64)
    subset = rows_at(ArrayBlocks(ROWS), chosen)
    assert isinstance(subset, SubsetBlocks)
    assert subset.shape == (len(index), 2)
    np.testing.assert_array_equal(subset.read(start, start + 25), ROWS[chosen[start : start + 25]])


def test_a_subset_of_embeddings_is_embeddings():
    vectors = np.eye(4, dtype=np.float32)
    embeddings = Embeddings(MappedVectors(vectors), np.array([[0], [1], [1], [3]]))
    subset = rows_at(embeddings, np.array([3, 1]))
    assert isinstance(subset, Embeddings)
    np.testing.assert_array_equal(subset.read(0, 2), vectors[[3, 1]])


def test_rows_that_do_not_exist_are_refused():
    with pytest.raises(InputError, match="0 … 199"):
        rows_at(ArrayBlocks(ROWS), np.array([0, 200]))


def test_classes_are_split_with_weights_of_their_own():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((30, 3)).astype(np.float32)
    labels, weights = rng.integers(0, 3, 30), rng.random(30)
    weights /= weights.sum()
    pool_labels = np.repeat([2, 0, 1], 4)
    problem = class_problems(
        ArrayBlocks(rows), weights, labels, rows[:12], pool_labels, [2, 0, 3], seed=5
    )
    assert [part.budget for part in problem.classes] == [2, 3]  # a class without budget has none
    for part, members, candidates, label in zip(
        problem.classes, problem.corpus_rows, problem.pool_rows, (0, 2), strict=True
    ):
        np.testing.assert_array_equal(members, np.flatnonzero(labels == label))
        np.testing.assert_array_equal(candidates, np.flatnonzero(pool_labels == label))
        np.testing.assert_array_equal(part.corpus.read(0, len(members)), rows[members])
        assert part.weights.sum() == pytest.approx(1)
    whole = global_problem(ArrayBlocks(rows), weights, rows[:12], 4, seed=5)
    assert whole.classes[0].corpus.shape == (30, 3)


def test_a_class_with_too_few_candidates_is_named():
    rows, labels = np.eye(4, dtype=np.float32), np.array([0, 0, 1, 1])
    with pytest.raises(InputError, match="class 1: .*2 candidates.*at least 3"):
        class_problems(ArrayBlocks(rows), np.full(4, 0.25), labels, rows, labels, [1, 3], seed=0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": np.full(4, 0.5)}, "sum 2"),
        ({"weights": np.array([2.0, -1, 0, 0])}, "negative"),
        ({"weights": np.full(3, 1 / 3)}, r"shape \(3,\)"),
        ({"pool": np.eye(3, dtype=np.float32)}, "as many features"),
        ({"budget": 0}, "budget is 0"),
        ({"budget": 5}, "budget is 5"),
    ],
)
def test_problems_that_make_no_sense_are_refused(change, message):
    rows = np.eye(4, dtype=np.float32)
    given_ = {"corpus": ArrayBlocks(rows), "weights": np.full(4, 0.25), "pool": rows, "budget": 2}
    with pytest.raises(InputError, match=message):
        ClassProblem(**{**given_, **change})


def test_every_registered_selector_can_be_loaded_but_exam_which_stands_apart():
    for name in SELECTORS:
        if name != "exam":
            assert callable(selector(name))


def test_settings_name_the_registered_selectors():
    with pytest.raises(ValueError, match="registered are random, kmeans"):
        SelectionSettings(selector="magic")
