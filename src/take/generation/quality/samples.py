"""Real rows to hold generated ones against: equally many, class by class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from take.errors import InputError
from take.rows.arrays import Bools, Int64


@dataclass(frozen=True)
class Matched:
    """Equally many rows of the pool and of the corpus, with one mix of classes, in random order."""

    pool: Int64
    real: Int64
    """Rows the language model never saw, as far as there are enough of them."""
    other: Int64
    """Again as many real rows, disjoint from `real`: the corpus against itself."""

    def __len__(self) -> int:
        return len(self.pool)


def match(
    pool_labels: Int64, corpus_labels: Int64, seen: Bools, rng: np.random.Generator
) -> Matched:
    """Draw from each class as many rows as the pool has, at most half of the corpus's.

    Half, so that a second, disjoint sample can be drawn and most of the corpus is left to measure
    coverage on. Where that is less than the pool has, the pool is drawn from, too.

    >>> matched = match(np.array([0, 0, 1]), np.array([0, 0, 1, 1]), np.zeros(4, dtype=np.bool_),
    ...                 np.random.default_rng(0))
    >>> len(matched), sorted(matched.real.tolist() + matched.other.tolist())
    (2, [0, 1, 2, 3])
    """
    pool, real, other = [], [], []
    for label in np.unique(pool_labels):
        generated = rng.permutation(np.flatnonzero(pool_labels == label))
        rows = rng.permutation(np.flatnonzero(corpus_labels == label))
        rows = rows[np.argsort(seen[rows], kind="stable")]  # unseen rows first
        count = min(len(generated), len(rows) // 2)
        pool.append(generated[:count])
        real.append(rows[:count])
        other.append(rng.permutation(rows[count:])[:count])
    if not sum(map(len, real)):
        raise InputError(
            "no class of the pool has two rows of the corpus to be compared with",
            where="corpus",
            allowed="two rows of a class or more",
            remedy="check that pool and corpus have the same labels",
        )
    return Matched(*(rng.permutation(np.concatenate(parts)) for parts in (pool, real, other)))
