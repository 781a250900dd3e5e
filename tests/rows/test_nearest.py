from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from take.rows.blocks import ArrayBlocks
from take.rows.nearest import nearest, nearest_by_class


def unit_rows(n_rows: int, seed: int) -> np.ndarray:
    rows = np.random.default_rng(seed).standard_normal((n_rows, 5))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def all_distances(queries: np.ndarray, references: np.ndarray) -> np.ndarray:
    return np.linalg.norm(queries[:, None].astype(float) - references[None], axis=2)


@given(
    n_queries=st.integers(1, 12),
    n_references=st.integers(1, 12),
    block_rows=st.integers(1, 13),
    seed=st.integers(0, 100),
)
def test_streaming_either_side_is_the_whole_matrix(n_queries, n_references, block_rows, seed):
    queries, references = unit_rows(n_queries, seed), unit_rows(n_references, seed + 1000)
    distances = all_distances(queries, references)
    for first in (queries, ArrayBlocks(queries)):
        for second in (references, ArrayBlocks(references)):
            found = nearest(first, second, block_rows)
            np.testing.assert_allclose(found.distance, distances.min(axis=1), atol=1e-6)
            np.testing.assert_array_equal(found.row, distances.argmin(axis=1))


@given(block_rows=st.integers(1, 25), seed=st.integers(0, 100))
def test_a_row_left_out_is_never_found(block_rows, seed):
    rows = unit_rows(20, seed)
    distances = all_distances(rows, rows)
    np.fill_diagonal(distances, np.inf)
    itself = np.arange(20)
    for references in (rows, ArrayBlocks(rows)):
        found = nearest(rows, references, block_rows, exclude=itself)
        np.testing.assert_array_equal(found.row, distances.argmin(axis=1))


def test_an_exact_copy_is_at_distance_zero():
    rows = unit_rows(50, 0)
    assert (nearest(rows, rows, 7).distance == 0).all()


def test_of_equally_close_references_the_first_is_returned():
    row = unit_rows(1, 0)
    for block_rows in (1, 2, 9):
        assert nearest(row, np.repeat(row, 5, axis=0), block_rows).row.tolist() == [0]


def test_without_references_no_row_is_found():
    found = nearest(unit_rows(2, 0), np.empty((0, 5), dtype=np.float32))
    assert np.isinf(found.distance).all()
    assert found.row.tolist() == [-1, -1]


@given(block_rows=st.integers(1, 25), seed=st.integers(0, 100))
def test_by_class_is_nearest_within_each_class(block_rows, seed):
    queries, references = unit_rows(20, seed), unit_rows(9, seed + 1000)
    labels, reference_labels = np.arange(20) % 4, np.arange(9) % 3  # class 3 has no reference
    found = nearest_by_class(ArrayBlocks(queries), labels, references, reference_labels, block_rows)
    distances = all_distances(queries, references)
    np.testing.assert_array_equal(found.any_class.row, distances.argmin(axis=1))
    distances[labels[:, None] != reference_labels] = np.inf
    np.testing.assert_allclose(found.own_class.distance, distances.min(axis=1), atol=1e-6)
    assert (found.own_class.row[labels == 3] == -1).all()
    present = labels != 3
    assert (found.own_class.row == distances.argmin(axis=1))[present].all()


def test_distances_are_euclidean():
    found = nearest(np.array([[0.6, 0.8]], np.float32), np.array([[1, 0], [0, 1]], np.float32))
    assert found.distance[0] == pytest.approx(np.sqrt(0.4))
