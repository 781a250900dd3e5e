"""Squared-Euclidean costs of a block of rows, and the cheapest target of every row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from take.blocks import DEFAULT_BLOCK_ROWS, Float32, RowBlocks, block_bounds

Float64 = NDArray[np.float64]
Indices = NDArray[np.int64]


class Assignment(NamedTuple):
    """The cheapest target of each corpus row, and its cost."""

    target: Indices  # (N,)
    cost: Float32  # (N,) ‖x_n − y_c‖²


def squared_norms(rows: Float32) -> Float32:
    """‖x‖² of each row.

    >>> squared_norms(np.array([[3.0, 4.0]], dtype=np.float32)).tolist()
    [25.0]
    """
    norms: Float32 = np.einsum("nd,nd->n", rows, rows)
    return norms


def squared_distances(block: Float32, targets: Float32) -> Float32:
    """C_nc = ‖x_n − y_c‖² = ‖x_n‖² + ‖y_c‖² − 2⟨x_n, y_c⟩, which is 2 − 2⟨x, y⟩ for unit vectors.

    One matrix product. In fp32 the three terms cancel, so that the distance of equal unit vectors
    comes out as up to 3e-7; below zero it is cut off.

    >>> points = np.array([[1, 0], [0, 1], [3, 0]], dtype=np.float32)
    >>> squared_distances(points, points[:1]).tolist()
    [[0.0], [2.0], [4.0]]
    """
    costs: Float32 = block @ targets.T
    costs *= -2
    costs += squared_norms(block)[:, None]
    costs += squared_norms(targets)[None, :]
    return np.maximum(costs, 0, out=costs)


def cheapest_targets(
    corpus: RowBlocks, targets: Float32, block_rows: int = DEFAULT_BLOCK_ROWS
) -> Assignment:
    """argmin_c C_nc and min_c C_nc of every row; of equals, the first target.

    The cost is taken anew from the difference x_n − y_c, which does not cancel.

    >>> from take.blocks import ArrayBlocks
    >>> points = np.array([[1, 0], [0, 1]], dtype=np.float32)
    >>> found = cheapest_targets(ArrayBlocks(points), points[::-1])
    >>> found.target.tolist(), found.cost.tolist()
    ([1, 0], [0.0, 0.0])
    """
    n_rows = corpus.shape[0]
    found = Assignment(np.empty(n_rows, np.int64), np.empty(n_rows, np.float32))
    for start, stop in block_bounds(n_rows, block_rows):
        block = corpus.read(start, stop)
        nearest = squared_distances(block, targets).argmin(axis=1)
        found.target[start:stop] = nearest
        found.cost[start:stop] = squared_norms(block - targets[nearest])
    return found
