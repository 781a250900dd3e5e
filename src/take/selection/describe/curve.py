"""The budget curve: the cost along one greedy path, and where it bends.

Greedy facility location is nested: its first k rows are its solution for every k. One path to the
largest budget is therefore the whole curve; it adds a product of N × K to the N × M of the path.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pandas as pd

from take.errors import InputError
from take.rows.arrays import Float32, Float64, Int64
from take.rows.blocks import RowBlocks, block_bounds, rows_at
from take.selection.describe.distillation import Distillation
from take.selection.describe.distillation_report import Knee
from take.selection.facility import greedy_path
from take.selection.facility_costs import FacilityCosts
from take.selection.selection_settings import Scope
from take.transport.costs import squared_distances
from take.transport.exact import SAMPLE_ROWS, draw_by_weight, read_rows, wasserstein

BINS = 4000  # of distances between unit vectors, 0 … 2: percentiles are right to 0.0005
LEAST_DEPTH = 0.15  # see `find_knee`
_BLOCK_ROWS = 2048


@dataclass(frozen=True)
class CurveOptions:
    """The last point of the curve, and the sample of its exact distances."""

    largest: int = 30  # k of the last point: rows per class, or in total if global
    w1_rows_per_class: int = 500  # corpus rows of a class in W₁, at most 2,000 in total
    w1_points: int = 6  # budgets at which W₁ is computed, in geometric steps
    memory_bytes: int = 2**30  # for the columns that the path keeps
    block_rows: int = _BLOCK_ROWS
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("largest", "w1_rows_per_class", "w1_points", "block_rows"):
            if getattr(self, name) < 1:
                raise InputError(
                    f"{name} is {getattr(self, name)}", where="budget curve", allowed="1 or more"
                )


@dataclass(frozen=True)
class BudgetCurve:
    """The curve, its knee, and the path it was measured along."""

    table: pd.DataFrame
    """rows_per_class (NaN if global), rows, cost, mean_distance, p95_distance, w1 (NaN where it was
    not computed), gain (the fall of the cost from the point before)."""
    knee: Knee
    scope: Scope
    w1_rows: int
    """Corpus rows, drawn by weight, that W₁ was computed on."""
    left_out_rows: int
    """Corpus rows of classes without a row in the pool: they are left out."""
    paths: tuple[Int64, ...] = field(repr=False)
    """Pool rows in greedy order, class by class, or all at once if global."""


class Along(NamedTuple):
    """Costs and distances for the first 1, 2, … K targets."""

    cost: Float64  # (K,) Σ_n w_n min_{c ≤ k} C_nc
    distance: Float64  # (K,) Σ_n min_{c ≤ k} ‖x_n − y_c‖
    counts: Int64  # (K, BINS) rows by distance

    def at(self, k: Int64) -> Along:
        """The values at some k; beyond the last target they are constant."""
        place = np.minimum(k, len(self.cost)) - 1
        return Along(*(each[place] for each in self))


def budget_curve(
    distillation: Distillation,
    options: CurveOptions | None = None,
    known: Sequence[Int64] = (),
) -> BudgetCurve:
    """Cost, coverage and W₁ for k = 1 … `largest`, and a suggestion where to stop.

    r̄ and its 95th percentile are over corpus rows, each to the nearest allowed row; W₁(P^w, P_S) is
    exact on a sample, with equal masses on the rows of S of any class. If a class has fewer
    candidates than k, all of them are taken. `known` are nested paths of a selector, pool rows of
    one class each: one that is long enough is not computed again.
    """
    options = options or CurveOptions()
    groups = list(_groups(distillation))
    if not any(distillation.weights[rows].any() for rows, _ in groups):
        raise InputError(
            "no class with weight in the corpus has a candidate in the pool",
            where="budget curve",
            remedy="check that pool and corpus have the same labels",
        )
    walks = [_walk(distillation, *group, options, known) for group in groups]
    paths, parts = zip(*walks, strict=True)
    sizes = np.arange(1, min(options.largest, max(map(len, paths))) + 1)
    found = [part.at(sizes) for part in parts]
    cost = np.sum([part.cost for part in found], axis=0)
    n_rows = sum(len(rows) for rows, _ in groups)
    w1, w1_rows = _exact(distillation, groups, paths, sizes, options)
    table = pd.DataFrame(
        {
            "rows_per_class": sizes if distillation.scope == "class" else np.nan,
            "rows": np.sum([np.minimum(sizes, len(path)) for path in paths], axis=0),
            "cost": cost,
            "mean_distance": np.sum([part.distance for part in found], axis=0) / n_rows,
            "p95_distance": _quantiles(np.sum([part.counts for part in found], axis=0), 0.95),
            "w1": w1,
            "gain": np.concatenate([[np.nan], -np.diff(cost)]),
        }
    )
    left_out = len(distillation.labels) - n_rows
    knee = _described(find_knee(sizes, cost), int(sizes[-1]), distillation.scope)
    return BudgetCurve(table, knee, distillation.scope, w1_rows, left_out, paths)


def along(
    corpus: RowBlocks, weights: Float64, targets: Float32, block_rows: int = _BLOCK_ROWS
) -> Along:
    """Costs and distances to the nearest of the first k targets, for all k in one pass.

    >>> from take.rows.blocks import ArrayBlocks
    >>> points = np.array([[1, 0], [0.8, 0.6], [0, 1]], dtype=np.float32)
    >>> found = along(ArrayBlocks(points), np.array([0.3, 0.4, 0.3]), points[[1, 2]])
    >>> found.cost.round(4).tolist(), (found.distance / 3).round(4).tolist()
    ([0.36, 0.12], [0.509, 0.2108])
    """
    K = len(targets)
    cost, distance, counts = np.zeros(K), np.zeros(K), np.zeros(K * BINS, dtype=np.int64)
    first_bin = np.arange(K)[:, None] * BINS
    for start, stop in block_bounds(corpus.shape[0], block_rows):
        nearest = squared_distances(targets, corpus.read(start, stop))  # (K, rows)
        np.minimum.accumulate(nearest, axis=0, out=nearest)
        cost += nearest @ weights[start:stop]
        np.sqrt(nearest, out=nearest)
        distance += nearest.sum(axis=1, dtype=np.float64)
        bins = np.minimum((nearest * (BINS / 2)).astype(np.int64), BINS - 1)
        counts += np.bincount((bins + first_bin).ravel(), minlength=K * BINS)
    return Along(cost, distance, counts.reshape(K, BINS))


class Bend(NamedTuple):
    """Where a curve lies farthest below its chord, and how far as a share of its whole fall."""

    k: int
    depth: float


def find_knee(sizes: Sequence[int] | Int64, costs: Sequence[float] | Float64) -> Bend | None:
    """The k at which the cost lies farthest below the chord, against log k; None if nowhere far.

    As in Kneedle (Satopää et al. 2011) both axes are scaled to 0 … 1. Against k itself every curve
    of diminishing gains has a knee, which moves to the right as the curve is extended; c − b log k,
    which has no scale of its own, is straight against log k. So is, nearly, k^{−α} with small α,
    which is how costs fall in many dimensions (α ≈ 2/d): below a depth of 0.15, that is for
    α log K up to 1.2, there is no knee.

    >>> find_knee([1, 2, 4, 8, 16], [1.0, 0.6, 0.2, 0.18, 0.16]).k
    4
    >>> find_knee([1, 2, 3, 4], [4.0, 3.0, 2.0, 1.0]) is None
    True
    """
    k, cost = np.asarray(sizes, dtype=np.float64), np.asarray(costs, dtype=np.float64)
    fall = float(cost[0] - cost[-1])
    if len(k) < 3 or not fall > 1e-6 * abs(float(cost[0])):  # fp32 resolves no less
        return None
    x, y = np.log(k / k[0]) / np.log(k[-1] / k[0]), (cost - cost[-1]) / fall
    depth = 1 - x - y
    best = int(depth.argmax())
    return Bend(int(k[best]), float(depth[best])) if depth[best] >= LEAST_DEPTH else None


def _groups(distillation: Distillation) -> Iterator[tuple[Int64, Int64]]:
    """Corpus rows, and the pool rows that may represent them."""
    if distillation.scope == "global":
        yield np.arange(len(distillation.labels)), np.arange(len(distillation.pool))
        return
    for label in np.unique(distillation.labels):
        candidates = np.flatnonzero(distillation.pool_labels == label)
        if len(candidates):
            yield np.flatnonzero(distillation.labels == label), candidates


def _walk(
    distillation: Distillation,
    rows: Int64,
    candidates: Int64,
    options: CurveOptions,
    known: Sequence[Int64],
) -> tuple[Int64, Along]:
    """The greedy path of one group, with its costs and distances."""
    corpus, weights = rows_at(distillation.corpus, rows), distillation.weights[rows]
    length = min(options.largest, len(candidates))
    path = next((p for p in known if len(p) >= length and np.isin(p, candidates).all()), None)
    if path is None:
        mass = float(weights.sum())
        # A class of weight 0 costs nothing, but its rows must be covered, too.
        shares = weights / mass if mass > 0 else np.full(len(rows), 1 / len(rows))
        pool = distillation.pool[candidates]
        memory, block_rows = options.memory_bytes, options.block_rows
        with FacilityCosts.of(corpus, shares, pool, memory, block_rows) as costs:
            path = candidates[greedy_path(costs, length).rows]
    return path[:length], along(corpus, weights, distillation.pool[path[:length]])


def _exact(
    distillation: Distillation,
    groups: Sequence[tuple[Int64, Int64]],
    paths: Sequence[Int64],
    sizes: Int64,
    options: CurveOptions,
) -> tuple[Float64, int]:
    """W₁(P^w, P_S) at some sizes, all on one sample, so that they are comparable."""
    weights = np.zeros(len(distillation.labels))
    for rows, _ in groups:
        weights[rows] = distillation.weights[rows]
    n_classes = len(np.unique(distillation.labels))
    n_sampled = min(options.w1_rows_per_class * n_classes, SAMPLE_ROWS)
    chosen, shares = draw_by_weight(weights, n_sampled, options.seed)
    sample = read_rows(distillation.corpus, chosen)
    values = np.full(len(sizes), np.nan)
    for size in np.unique(np.geomspace(1, sizes[-1], options.w1_points).round().astype(np.int64)):
        targets = distillation.pool[np.concatenate([path[:size] for path in paths])]
        equal = np.full(len(targets), 1 / len(targets))
        values[size - 1] = wasserstein(sample, shares, targets, equal)
    return values, len(chosen)


def _quantiles(counts: Int64, share: float) -> Float64:
    """The quantile of each line of counts, interpolated linearly within a bin."""
    cumulated = np.concatenate([np.zeros((len(counts), 1)), np.cumsum(counts, axis=1)], axis=1)
    edges = np.linspace(0, 2, BINS + 1)
    return np.array([np.interp(share * line[-1], line, edges) for line in cumulated])


def _described(bend: Bend | None, largest: int, scope: Scope) -> Knee:
    unit = "rows per class" if scope == "class" else "rows"
    if bend is None:
        sentence = (
            f"The cost has no knee up to {largest} {unit}: it keeps falling at about the same "
            "rate and suggests no budget. This is about coverage, not about accuracy."
        )
        return Knee(k=None, depth=None, sentence=sentence)
    sentence = (
        f"Up to about {bend.k} {unit} each doubling of the budget lowers the transport cost "
        f"quickly, beyond that slowly (measured up to {largest}). This is a suggestion about "
        "coverage, not about accuracy."
    )
    return Knee(k=bend.k, depth=bend.depth, sentence=sentence)
