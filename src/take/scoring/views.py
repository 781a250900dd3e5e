"""Which rows do the weights favour? By class, by any column such as text length, and by example."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from take.rows.arrays import Float64, Int64
from take.scoring.diagnostics import average_ranks


@dataclass(frozen=True)
class ExtremeRows:
    """The rows of one class that weigh most and least, heaviest and lightest first."""

    label: int
    highest: Int64
    lowest: Int64


@dataclass(frozen=True)
class WeightHistogram:
    """How many rows weigh how much, in multiples of 1/N."""

    edges: Float64  # (bins + 1,)
    counts: Int64  # (bins,)


def rank_correlation(first: Float64, second: Float64) -> float:
    """Spearman's ρ, e.g. of weights and text lengths, which shows a score that follows length.

    >>> round(rank_correlation(np.array([1.0, 2.0, 3.0]), np.array([10.0, 20.0, 40.0])), 6)
    1.0
    """
    ranks = [average_ranks(values) for values in (first, second)]
    if any(np.ptp(rank) == 0 for rank in ranks):
        return 0.0  # a constant has no order to agree with
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def class_shares(weights: Float64, labels: Int64, n_classes: int) -> Float64:
    """Mass of each class under the weights.

    >>> class_shares(np.array([0.5, 0.25, 0.25]), np.array([0, 1, 1]), 2).tolist()
    [0.5, 0.5]
    """
    shares = np.bincount(labels, weights=weights, minlength=n_classes)
    return shares.astype(np.float64)


def extreme_rows(weights: Float64, labels: Int64, count: int = 10) -> list[ExtremeRows]:
    """Return for each class the rows with the highest and the lowest weights.

    >>> extreme_rows(np.array([0.1, 0.2, 0.7]), np.array([0, 0, 1]), count=1)[0]
    ExtremeRows(label=0, highest=array([1]), lowest=array([0]))
    """
    extremes = []
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        ascending = rows[np.argsort(weights[rows], kind="stable")]
        extremes.append(ExtremeRows(int(label), ascending[::-1][:count], ascending[:count]))
    return extremes


def weight_histogram(weights: Float64, bins: int = 50) -> WeightHistogram:
    """Count rows by weight, in multiples of the uniform weight 1/N.

    >>> weight_histogram(np.array([0.25, 0.25, 0.5]), bins=3).counts.tolist()
    [2, 0, 1]
    """
    counts, edges = np.histogram(weights * len(weights), bins=bins)
    return WeightHistogram(edges.astype(np.float64), counts.astype(np.int64))
