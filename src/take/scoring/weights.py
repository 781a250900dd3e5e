"""From the influence matrix to κ (Eq. 9) with a temporal kernel, and to capped weights."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from take.rows.arrays import Float32, Float64
from take.rows.blocks import ArrayBlocks
from take.rows.passes import compute_blocks
from take.scoring.scoring_inputs import KernelName, ScoringError, ScoringWarning

LOW_ESS_SHARE = 0.1
_BLOCK_ROWS = 2**16

# k(t, T, λ) for t = 0 … T−1. λ is only read by the exponential kernel.
_FORMULAS: dict[KernelName, Callable[[int, int, float], float]] = {
    "exponential": lambda t, T, decay: math.exp(-decay * t / T),
    "linear": lambda t, T, decay: 1 - t / T,
    "cosine": lambda t, T, decay: (1 + math.cos(math.pi * t / T)) / 2,
    "constant": lambda t, T, decay: 1.0,
    "last": lambda t, T, decay: float(t == T - 1),
}


@dataclass(frozen=True)
class RowScores:
    """A score for each row, to which its weight will be proportional."""

    values: Float64  # (N,), finite and ≥ 0
    floored_entries: int = 0  # entries of I that the floor raised before they were inverted
    inverted_entries: int = 0  # entries of I that were inverted


def kernel_values(
    kernel: KernelName | tuple[float, ...], checkpoints: int, decay: float
) -> Float64:
    """k(0) … k(T−1) of Eq. 9, where T is the number of checkpoints and λ the decay.

    exponential e^{−λt/T}, linear 1 − t/T, cosine ½(1 + cos(πt/T)), constant 1, last [t = T−1];
    or the T values themselves. Proposition 2 is stated for decreasing k, so custom values that do
    not decrease are used, with a warning.

    >>> kernel_values("linear", checkpoints=4, decay=1.0).tolist()
    [1.0, 0.75, 0.5, 0.25]
    """
    if isinstance(kernel, str):
        formula = _FORMULAS[kernel]
        return np.array([formula(t, checkpoints, decay) for t in range(checkpoints)])
    values = np.array(kernel, dtype=np.float64)
    if values.shape != (checkpoints,) or not (np.isfinite(values) & (values >= 0)).all():
        raise ScoringError(
            f"kernel is {kernel}",
            "kernel",
            f"{checkpoints} finite values ≥ 0, one per checkpoint",
            "correct the list, or name a built-in kernel",
        )
    if not values.any():
        raise ScoringError("kernel is zero everywhere", "kernel", "a positive value", "add one")
    if (np.diff(values) >= 0).any():
        t = int(np.argmax(np.diff(values) >= 0))
        warnings.warn(
            f"kernel does not decrease: k({t}) = {values[t]:g}, k({t + 1}) = {values[t + 1]:g}. "
            "Proposition 2 assumes that it does.",
            ScoringWarning,
            stacklevel=2,
        )
    return values


@dataclass(frozen=True)
class WeightReport:
    """How far from uniform the weights are, and what floor and cap did to them."""

    n_rows: int
    floored_entries: int  # of the N x T influence matrix; 0 for scorers that do not invert it
    floored_share: float
    capped_rows: int
    largest_weight: float  # as a multiple of 1/N
    effective_rows: float  # ESS = 1 / Σ w²
    effective_share: float  # ESS / N
    effective_share_before_cap: float  # not improved by the cap
    top_percent_share: float  # mass of the heaviest 1 % of the rows
    total_variation: float  # ½ Σ |w_n − 1/N|, the bound of Remark 1 in units of the diameter
    low_effective_share: bool  # ESS / N before the cap below 10 %: a few rows dominate


def knowledge_scores(influence: Float32, kernel: Float64, floor: float) -> RowScores:
    """Eq. 9: κ_n = Σ_t k(t) / I(n, t), with I column-normalised and floored.

    I(·, t) ← I(·, t) / Σ_n I(n, t) makes checkpoints comparable; then I(n, t) is raised to at least
    `floor` times its column's mean, 1/N, because 1/I has no bound. A kernel value of zero drops its
    column.

    >>> influence = np.array([[1.0], [3.0]], dtype=np.float32)
    >>> knowledge_scores(influence, np.array([1.0]), floor=0.1).values.round(3).tolist()
    [4.0, 1.333]
    """
    used = kernel > 0
    kernel, n_rows = kernel[used], len(influence)
    column_sums = influence.sum(axis=0, dtype=np.float64)[used]
    bad = ~(np.isfinite(column_sums) & (column_sums > 0))
    if bad.any():
        t = int(np.argmax(bad))
        raise ScoringError(
            f"gradient norms sum to {column_sums[t]:g}",
            f"influence matrix, checkpoint {int(np.flatnonzero(used)[t])}",
            "a finite positive sum in each column",
            "check the embeddings; lower `learning_rate` if the probe has saturated",
        )

    def sums(start: int, block: Float32) -> tuple[Float64, int]:
        normalised = block[:, used] / column_sums
        floored = int(np.count_nonzero(normalised < floor / n_rows))
        return (1 / np.maximum(normalised, floor / n_rows)) @ kernel, floored

    # Blocks keep the float64 copies small; I itself is N x T float32.
    blocks = compute_blocks(sums, ArrayBlocks(influence), block_rows=_BLOCK_ROWS)
    kappa, floored = zip(*blocks, strict=True)
    return RowScores(np.concatenate(kappa), sum(floored), n_rows * len(kernel))


def capped_weights(scores: Float64, cap: float) -> Float64:
    """W ∝ scores, no weight above cap/N, sum 1.

    w_n = min(cap/N, s · score_n) for the one s that makes Σ w = 1, so rows below the cap keep
    their proportions. Found by sorting: with the k largest at the cap, s = (1 − k·cap/N) / Σ rest,
    and the right k is the first at which the next row stays below the cap.

    >>> capped_weights(np.array([8.0, 1.0, 1.0]), cap=1.5).tolist()
    [0.5, 0.25, 0.25]
    """
    n_rows = len(scores)
    bad = ~(np.isfinite(scores) & (scores >= 0))
    if bad.any() or not scores.any():
        row = int(np.argmax(bad)) if bad.any() else 0
        raise ScoringError(
            f"score is {scores[row]}" if bad.any() else "every score is zero",
            f"scores, row {row}" if bad.any() else "scores",
            "finite scores ≥ 0, one of them positive",
            "check the scorer and its settings",
        )
    limit = cap / n_rows
    if np.count_nonzero(scores) * limit < 1:
        raise ScoringError(
            f"{np.count_nonzero(scores)} of {n_rows} rows have a positive score",
            "scores",
            f"at least {math.ceil(n_rows / cap)} rows, as no weight may exceed {cap:g}/N",
            "raise `cap`, or use another scorer",
        )
    shares = scores / scores.max()  # extreme scales would overflow the sums
    descending = np.sort(shares)[::-1]
    rest = np.cumsum(descending[::-1])[::-1]  # Σ of each row and all smaller ones
    scales = np.maximum(1 - np.arange(n_rows) * limit, 0) / np.where(rest > 0, rest, np.inf)
    # Rounding may let every positive score seem above the cap; the last of them never is.
    capped = min(int(np.argmax(scales * descending <= limit)), np.count_nonzero(scores) - 1)
    weights: Float64 = np.minimum(shares * scales[capped], limit)
    return weights


def weigh(rows: RowScores, cap: float) -> tuple[Float64, WeightReport]:
    """Weights of the scores and the report that says whether to trust them.

    >>> weights, report = weigh(RowScores(np.ones(4)), cap=10)
    >>> weights.tolist(), report.effective_share
    ([0.25, 0.25, 0.25, 0.25], 1.0)
    """
    scores = rows.values
    weights = capped_weights(scores, cap)
    n_rows = len(weights)
    effective = float(1 / (weights @ weights))
    uncapped = scores / scores.max()
    share_before_cap = float(uncapped.sum() ** 2 / (uncapped @ uncapped)) / n_rows
    top = math.ceil(n_rows / 100)
    report = WeightReport(
        n_rows=n_rows,
        floored_entries=rows.floored_entries,
        floored_share=rows.floored_entries / max(rows.inverted_entries, 1),
        capped_rows=int(np.count_nonzero(weights >= cap / n_rows)),
        largest_weight=float(weights.max() * n_rows),
        effective_rows=effective,
        effective_share=effective / n_rows,
        effective_share_before_cap=share_before_cap,
        top_percent_share=float(np.partition(weights, n_rows - top)[n_rows - top :].sum()),
        total_variation=float(np.abs(weights - 1 / n_rows).sum() / 2),
        low_effective_share=share_before_cap < LOW_ESS_SHARE,
    )
    if report.low_effective_share:
        warnings.warn(
            f"effective sample size before the cap is {share_before_cap * n_rows:.0f} of {n_rows} "
            f"rows ({share_before_cap:.1%}, below {LOW_ESS_SHARE:.0%}): a few rows dominate. "
            "Raise `floor`, lower `cap`, or use the `uniform` scorer.",
            ScoringWarning,
            stacklevel=2,
        )
    return weights, report
