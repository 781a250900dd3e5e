"""Random streams by name, and numbers that look random but are a function of their input."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray


def rng(seed: int, stream: str, *parts: int) -> np.random.Generator:
    """A generator of its own for each seed, stream name and parts (a class, an epoch).

    The name is hashed, so that two streams of one seed never coincide, whoever adds them.

    >>> float(rng(0, "canaries").random()) == float(rng(0, "canaries").random())
    True
    >>> float(rng(0, "canaries").random()) == float(rng(0, "canaries", 1).random())
    False
    """
    name = np.frombuffer(hashlib.sha256(stream.encode()).digest()[:16], dtype="<u4")
    return np.random.default_rng([seed, *name.tolist(), *parts])


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
