"""Squared-Euclidean costs of a block of rows."""

from __future__ import annotations

import numpy as np

from take.rows.arrays import Float32
from take.rows.blocks import squared_norms


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
