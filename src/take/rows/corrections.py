"""p-values of several comparisons at once."""

from __future__ import annotations

import numpy as np

from take.rows.arrays import Float64


def holm(p: Float64) -> Float64:
    """p-values corrected for all of them (Holm 1979).

    In ascending order, p_(k) is multiplied by the number of those that are not smaller, and is at
    least the one before: the chance that any true hypothesis is rejected stays below the level,
    however they depend on each other.

    >>> holm(np.array([0.01, 0.5, 0.02])).tolist()
    [0.03, 0.5, 0.04]
    """
    order = np.argsort(p, kind="stable")
    steps = p[order] * np.arange(len(p), 0, -1)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1, np.maximum.accumulate(steps))
    return adjusted
