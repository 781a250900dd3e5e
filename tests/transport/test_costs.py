from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from take.transport.costs import Candidates, Column, CostColumns, squared_distances

points = hnp.arrays(np.float32, (7, 3), elements=st.floats(-10, 10, width=32))


def dense(x, y):
    return ((x[:, None, :].astype(float) - y[None, :, :].astype(float)) ** 2).sum(axis=2)


@given(x=points, y=points)
def test_costs_are_squared_distances_of_any_vectors(x, y):
    np.testing.assert_allclose(squared_distances(x, y), dense(x, y), atol=2e-4)


def test_unit_vectors_cost_two_minus_twice_their_product(clouds):
    expected = 2 - 2 * clouds.rows.astype(float) @ clouds.targets.T.astype(float)
    np.testing.assert_allclose(squared_distances(clouds.rows, clouds.targets), expected, atol=1e-6)


def test_columns_are_right_however_little_memory_there_is(clouds):
    costs = dense(clouds.rows, clouds.targets)
    pool, corpus_bytes = Candidates(clouds.targets), 4 * clouds.rows.size
    for slots, held in ((1, 0), (5, corpus_bytes), (7, corpus_bytes - 1), (40, corpus_bytes)):
        columns = CostColumns(clouds.corpus, pool, slots=slots, corpus_bytes=held, block_rows=32)
        for candidate in (3, 1, 3, 7, 9, 30, 1, 3, *range(40)):
            last = min(candidate + min(5, slots), 40)
            column = Column(candidate, candidate, tuple(range(candidate, last)))
            np.testing.assert_allclose(columns.column(column), costs[:, candidate], atol=1e-6)
        for rows in (np.arange(300), np.array([0, 2, 3, 150, 299])):
            for part, block in columns.row_blocks(rows):
                np.testing.assert_allclose(block, costs[rows[part]], atol=1e-6)


def test_a_column_computed_again_with_its_batch_is_the_same(clouds):
    wanted = Column(9, 1, (2, 9, 11, 30))
    found = []
    for others in ((), (Column(9, 0, (9,)), Column(30, 2, (30, 31)), Column(9, 3, (8, 9)))):
        columns = CostColumns(clouds.corpus, Candidates(clouds.targets), slots=4)
        for other in others:
            columns.column(other)
        found.append(columns.column(wanted).tobytes())
    assert found[0] == found[1]
