from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from take.transport.costs import CostColumns, squared_distances

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
    column_bytes = 4 * len(clouds.rows)
    for memory in (0, column_bytes, 3 * column_bytes, 2**24):
        columns = CostColumns(clouds.corpus, clouds.targets, memory, block_rows=32)
        for candidate in (3, 1, 3, 7, 9, 30, 1, 3, *range(40)):
            column = columns.column(candidate, likely=np.arange(candidate, min(candidate + 5, 40)))
            np.testing.assert_allclose(column, costs[:, candidate], atol=1e-6)
        for rows in (np.arange(300), np.array([0, 2, 3, 150, 299])):
            for part, block in columns.row_blocks(rows):
                np.testing.assert_allclose(block, costs[rows[part]], atol=1e-6)
