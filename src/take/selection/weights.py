"""The weights that selection goes by: κ, tempered."""

from __future__ import annotations

from take.rows.arrays import Float64


def tempered(weights: Float64, alpha: float) -> Float64:
    """w_n^α / Σ w^α: α = 1 is κ as it is, α = 0 counts every row alike.

    >>> import numpy as np
    >>> tempered(np.array([0.0, 0.2, 0.8]), 0.5).round(3).tolist()
    [0.0, 0.333, 0.667]
    >>> tempered(np.array([0.0, 1.0]), 0.0).tolist()
    [0.5, 0.5]
    """
    powered = weights**alpha  # 0⁰ is 1
    shares: Float64 = powered / powered.sum()
    return shares
