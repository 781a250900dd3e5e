"""The interval of a share, for few rows and for shares at the very edge."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from take.rows.arrays import Float64


def clopper_pearson(
    count: ArrayLike, total: ArrayLike, confidence: float | Float64
) -> tuple[Float64, Float64]:
    """The exact interval of a share: Beta quantiles.

    >>> low, high = clopper_pearson([0, 5], [10, 10], 0.95)
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.0, 0.187], [0.308, 0.813])
    """
    from scipy.special import betaincinv

    k, n = np.broadcast_arrays(np.asarray(count, np.float64), np.asarray(total, np.float64))
    k = np.clip(k, 0, n)
    tail = (1 - np.asarray(confidence)) / 2
    with np.errstate(invalid="ignore"):
        low = np.where(k > 0, betaincinv(np.maximum(k, 1e-12), n - k + 1, tail), 0.0)
        high = np.where(k < n, betaincinv(k + 1, np.maximum(n - k, 1e-12), 1 - tail), 1.0)
    return low, high
