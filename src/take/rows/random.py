"""Random streams by name."""

from __future__ import annotations

import numpy as np

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
