"""Numbers that look random and are a function of their input alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A bijection of 64-bit numbers that spreads neighbours apart (SplitMix64).

    >>> [hex(value)[:6] for value in mixed(np.array([0, 1], dtype=np.uint64))]
    ['0xe220', '0x910a']
    """
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    spread: NDArray[np.uint64] = values ^ (values >> np.uint64(31))
    return spread
