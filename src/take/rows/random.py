"""Random streams by name, and numbers that look random but are a function of their input."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Streams as they were numbered before they had names; being removed.
_NUMBERS: dict[str, tuple[int, ...]] = {
    "random comparison sets": (29,),
    "map sample": (31,),
    "evaluation subset": (),
    "vocabulary permutations": (),
    "distance sample": (43,),
    "matched draws": (),
    "membership sample": (41,),
    "quality sample": (11,),
    "generator held-out rows": (0,),
    "generator training rows": (1,),
    "fine-tuning batches": (),
    "canaries": (2,),
    "learner batches": (),
    "stratified rows": (1,),
    "unstratified rows": (2,),
    "k-centres": (3,),
    "eda": (4,),
    "candidates": (5,),
    "exact distance sample": (11,),
    "systematic sample": (7,),
    "diagnostics bootstrap": (3,),
    "probe held-out rows": (1,),
    "probe batches": (),
    "flipped labels": (2,),
    "exam rows": (0,),
    "exam parts": (1,),
    "swap order": (2,),
    "random selection": (1,),
}


def rng(seed: int, stream: str, *parts: int) -> np.random.Generator:
    """A generator of its own for each seed, stream name and parts (a class, an epoch).

    >>> float(rng(0, "canaries").random()) == float(rng(0, "canaries").random())
    True
    >>> float(rng(0, "canaries").random()) == float(rng(0, "canaries", 1).random())
    False
    """
    return np.random.default_rng([seed, *_NUMBERS[stream], *parts])


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
