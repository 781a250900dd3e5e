from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from take.encoder.embeddings import Embeddings, MappedVectors
from take.errors import InputError
from take.rows.blocks import ArrayBlocks, SubsetBlocks, rows_at
from take.selection.problem import ClassProblem
from take.selection.selection_settings import SelectionSettings
from tests.selection.conftest import make_selection_problem

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
    problem = make_selection_problem(budgets=(2, 0, 3))
    parts = problem.parts()
    assert [part.problem.budget for part in parts] == [2, 3]  # a class without budget has none
    for part, label in zip(parts, (0, 2), strict=True):
        members = np.flatnonzero(problem.corpus.labels == label)
        np.testing.assert_array_equal(part.pool_rows, np.flatnonzero(problem.pool.labels == label))
        rows = problem.corpus.phi.read(0, len(problem.corpus))[members]
        np.testing.assert_array_equal(part.problem.corpus.read(0, len(members)), rows)
        expected = problem.weights[members] / problem.weights[members].sum()
        np.testing.assert_allclose(part.problem.weights, expected)
    (whole,) = make_selection_problem(budgets=(2, 0, 3), scope="global").parts()
    assert whole.problem.corpus.shape == (400, 8)
    assert whole.problem.budget == 5


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


def test_settings_name_the_registered_selectors():
    with pytest.raises(ValueError, match="registered are random, kmeans"):
        SelectionSettings(selector="magic")
