"""How close every corpus row has a candidate: Assumption 1, measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from take.blocks import DEFAULT_BLOCK_ROWS, Float32, RowBlocks
from take.transport.costs import cheapest_targets

Float64 = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Coverage:
    """Distances of corpus rows to their nearest target, and what they sum up to."""

    mean: float  # r̄ = 1/N Σ_n min_c ‖φ(z_n) − φ(z̃_c)‖
    weighted_mean: float  # the same under P^w
    p95: float
    p99: float
    largest: float  # r of Assumption 1
    distances: Float32  # (N,)
    nearest: Indices  # (N,)

    def least_covered(self, count: int) -> Indices:
        """The corpus rows farthest from any target, farthest first; of equals, the first row."""
        return np.argsort(-self.distances, kind="stable")[:count].astype(np.int64)


def coverage(
    corpus: RowBlocks,
    weights: Float64,
    targets: Float32,
    block_rows: int = DEFAULT_BLOCK_ROWS,
) -> Coverage:
    """r̄ of the paper with its 95th and 99th percentiles: how far a reader of the targets is off.

    >>> from take.blocks import ArrayBlocks
    >>> rows = np.array([[1, 0], [0, 1]], dtype=np.float32)
    >>> found = coverage(ArrayBlocks(rows), np.array([0.25, 0.75]), rows[:1])
    >>> round(found.mean, 4), round(found.weighted_mean, 4), found.least_covered(1).tolist()
    (0.7071, 1.0607, [1])
    """
    found = cheapest_targets(corpus, targets, block_rows)
    distances = np.sqrt(found.cost)
    exact = distances.astype(np.float64)
    p95, p99 = np.quantile(exact, [0.95, 0.99])
    return Coverage(
        mean=float(exact.mean()),
        weighted_mean=float(weights @ exact),
        p95=float(p95),
        p99=float(p99),
        largest=float(exact.max()),
        distances=distances,
        nearest=found.target,
    )
