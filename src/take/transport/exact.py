"""Exact Wasserstein distances, by linear programming (POT) on a sample."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from take.rows.arrays import Float32, Float64, Int64
from take.rows.blocks import RowBlocks, block_bounds
from take.rows.random import rng
from take.transport.costs import TransportError

SAMPLE_ROWS = 2000
_MAX_PIVOTS = 10_000_000


@dataclass(frozen=True)
class ExactDistance:
    """W_p between two measures, and the size of the sample."""

    value: float
    power: int  # p, 1 or 2
    sampled_rows: int
    corpus_rows: int


def wasserstein(
    x: Float32, x_weights: Float64, y: Float32, y_weights: Float64, power: int = 1
) -> float:
    """W_p = (min over γ ∈ Π(a, b) of Σ γ_ij ‖x_i − y_j‖^p)^{1/p}, p = 1 or 2, solved exactly."""
    if power not in (1, 2):
        raise TransportError(f"power is {power}. Allowed: 1 or 2.")
    # In fp64: with fp32, cancellation would give 3e-4 between equal rows.
    x64, y64 = x.astype(np.float64), y.astype(np.float64)
    norms = [np.einsum("nd,nd->n", rows, rows) for rows in (x64, y64)]
    costs = np.maximum(norms[0][:, None] + norms[1][None, :] - 2 * (x64 @ y64.T), 0)
    if power == 1:
        np.sqrt(costs, out=costs)
    a, b = x_weights / x_weights.sum(), y_weights / y_weights.sum()
    value, log = _pot().emd2(a, b, costs, numItermax=_MAX_PIVOTS, log=True)
    if log["warning"] is not None:
        raise TransportError(
            f"exact transport of {len(x)} × {len(y)} rows failed: {log['warning']}. "
            "Fix: lower the number of sampled rows."
        )
    return float(float(value) ** (1 / power))


def wasserstein_within(
    x: Float32,
    x_weights: Float64,
    x_labels: Int64,
    y: Float32,
    y_weights: Float64,
    y_labels: Int64,
) -> float | None:
    """Σ_l P(l) W₁(P(·|l), Q(·|l)), transport within classes only; None if Q lacks a class of P.

    P is of x and Q of y. Theorem 1 bounds a loss ℓ(z; f) of the label as well as of the text, and
    ℓ jumps between classes, however near their texts are. Where P and Q give each class the same
    mass, this is W₁ with transport between classes forbidden, so it is at least W₁. It does not
    count how far the masses of classes differ.

    A row at 0 and one at 1, whose labels Q exchanges: W₁ is 0, and both must travel 1.

    >>> points, equal, labels = np.array([[0.0], [1.0]]), np.array([0.5, 0.5]), np.array([0, 1])
    >>> wasserstein(points, equal, points, equal)
    0.0
    >>> wasserstein_within(points, equal, labels, points, equal, labels[::-1])
    1.0
    """
    total = float(x_weights.sum())
    value = 0.0
    for label in np.unique(x_labels[x_weights > 0]):
        ours, theirs = x_labels == label, y_labels == label
        if not y_weights[theirs].sum() > 0:
            return None
        distance = wasserstein(x[ours], x_weights[ours], y[theirs], y_weights[theirs])
        value += float(x_weights[ours].sum()) / total * distance
    return value


def reweighting_distance(
    corpus: RowBlocks, weights: Float64, power: int = 1, rows: int = SAMPLE_ROWS, seed: int = 0
) -> ExactDistance:
    """W_p(P_D, P^w) of Remark 1: how far the weights move the corpus.

    Both measures are on the same rows, so the same rows are drawn for both, uniformly.
    """
    n_rows = corpus.shape[0]
    random = rng(seed, "exact distance sample")
    chosen = np.arange(n_rows)
    if n_rows > rows:
        chosen = np.sort(random.choice(n_rows, size=rows, replace=False))
    features, part = read_rows(corpus, chosen), weights[chosen]
    if not part.sum() > 0:
        raise TransportError(f"the {len(chosen)} rows drawn have no weight. Fix: draw more rows.")
    value = wasserstein(features, np.full(len(chosen), 1.0), features, part, power)
    return ExactDistance(value, power, len(chosen), n_rows)


def draw_by_weight(weights: Float64, rows: int, seed: int) -> tuple[Int64, Float64]:
    """`rows` rows in proportion to their weights, and the weight of each in the sample.

    Systematic sampling: one uniform draw, then equal steps through the cumulated weights. A row is
    drawn ⌊rows · w⌋ or ⌈rows · w⌉ times, so the sample follows the weights closely. If there are no
    more corpus rows than `rows`, all are taken, with their own weights.

    >>> chosen, weights = draw_by_weight(np.array([0.5, 0.0, 0.5] * 2) / 2, rows=4, seed=0)
    >>> chosen.tolist(), weights.tolist()
    ([0, 2, 3, 5], [0.25, 0.25, 0.25, 0.25])
    >>> draw_by_weight(np.array([0.5, 0.5]), rows=3, seed=0)
    (array([0, 1]), array([0.5, 0.5]))
    """
    if len(weights) <= rows:
        return np.arange(len(weights)), weights
    first = rng(seed, "systematic sample").random()
    cumulated = np.cumsum(weights)
    positions = (first + np.arange(rows)) / rows * cumulated[-1]
    drawn = np.searchsorted(cumulated, positions, side="right").clip(0, len(weights) - 1)
    chosen, counts = np.unique(drawn, return_counts=True)
    return chosen, counts / rows


def read_rows(corpus: RowBlocks, chosen: Int64) -> Float32:
    """Those rows (ascending), read by blocks."""
    found = np.empty((len(chosen), corpus.shape[1]), dtype=np.float32)
    for start, stop in block_bounds(corpus.shape[0]):
        low, high = np.searchsorted(chosen, [start, stop])
        if high > low:
            found[low:high] = corpus.read(start, stop)[chosen[low:high] - start]
    return found


def _pot() -> Any:
    # POT imports every array library it finds, and torch alone takes 1.5 s; we use NumPy only.
    for library in ("PYTORCH", "TENSORFLOW", "JAX", "CUPY"):
        os.environ.setdefault(f"POT_BACKEND_DISABLE_{library}", "1")
    try:
        import ot  # type: ignore[import-not-found,unused-ignore]
    except ImportError as error:
        raise TransportError(
            "exact transport needs the package POT, which is not installed. "
            "Fix: pip install POT, or leave the exact distances out."
        ) from error
    return ot
