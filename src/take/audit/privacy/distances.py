"""How close rows are to the rows that were learned from, beside rows that were not.

Closeness alone says little: rows of one subject are close to each other. Two comparisons say more.
The held-out rows' own distances to the members are what real, unseen rows have. And if nothing was
memorised, members and non-members could change places, so that a query is as often closest to the
one as to the other: that share, over sets of equal size and classes, has a known value, ½.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from pydantic import Field

from take.audit.privacy.closest import NO_DRAW, Closest, closest_rows, matched_draws
from take.audit.privacy.intervals import Estimate, Interval, effective_share_interval
from take.errors import InputError
from take.frozen import Frozen
from take.rows.arrays import Float32, Float64, Int64
from take.rows.blocks import ArrayBlocks, RowBlocks, map_blocks
from take.rows.random import rng


class DistanceSettings(Frozen):
    """`params:audit.distances`.

    >>> DistanceSettings(draws=5).most_queries
    2000
    """

    draws: int = Field(
        default=20,
        ge=1,
        le=1000,
        description="most samples of the larger of the two sets that are compared with the smaller",
    )
    most_queries: int = Field(
        default=2000, ge=10, description="rows that are looked at; of more, a random sample is"
    )
    bins: int = Field(default=40, ge=2, le=1000, description="bars of the histograms")
    level: float = Field(default=0.95, gt=0, lt=1, description="level of the interval")
    seed: int = Field(default=0, ge=0, lt=2**32)


@dataclass(frozen=True)
class DistanceEvidence:
    """Unit vectors φ, and the class of each row."""

    queries: Float32
    members: RowBlocks | Float32
    non_members: RowBlocks | Float32
    query_labels: Int64
    member_labels: Int64
    non_member_labels: Int64


class Quantiles(Frozen):
    """Of a distance, or a ratio of two."""

    smallest: float = Field(description="None is below.")
    p01: float = Field(description="1 % are below.")
    p05: float = Field(description="5 % are below.")
    median: float = Field(description="Half of them are below.")
    p95: float = Field(description="95 % are below.")
    mean: float = Field(description="Over all rows.")


class Histogram(Frozen):
    """Shares of rows by distance to the closest reference; the bars of each add up to 1."""

    edges: list[float] = Field(description="Of the bars, one more than there are bars.")
    queries_to_members: list[float] = Field(description="Rows under audit, to all members.")
    held_out_to_members: list[float] = Field(
        description="Non-members, to all members: what real, unseen rows have."
    )
    queries_to_matched_members: list[float] = Field(
        description="Rows under audit, to samples of the members, as many as non-members."
    )
    queries_to_matched_non_members: list[float] = Field(
        description="Rows under audit, to as many non-members of the same classes: without "
        "memorisation, the same as to the matched members."
    )


class Distances(Frozen):
    """Euclidean distances between embeddings. Indicators, not guarantees."""

    queries: int = Field(description="Rows under audit that were looked at.")
    members: int = Field(description="Rows that were learned from.")
    non_members: int = Field(description="Rows that were not.")
    matched_rows: int = Field(description="Rows on either side of the comparison that is matched.")
    draws: int = Field(description="Samples of the larger side it was made with.")
    closest_member: Quantiles = Field(
        description="Distance of a row under audit to its closest member (DCR)."
    )
    held_out_closest_member: Quantiles = Field(
        description="The same of non-members: what real, unseen rows have."
    )
    closest_matched_member: Quantiles = Field(
        description="Distance of a row under audit to the closest of as many members as there are "
        "matched rows, over all draws."
    )
    closest_matched_non_member: Quantiles = Field(
        description="The same to non-members: without memorisation, the same figures."
    )
    ratio: Quantiles = Field(
        description="Distance to the closest member over that to the second closest (NNDR): near 0 "
        "it belongs to one member; 1 where both distances are 0."
    )
    held_out_ratio: Quantiles = Field(description="The same of non-members.")
    unusually_close: float = Field(
        description="Share of rows under audit that are closer to a member than all but 1 % of "
        "non-members are. Rows that are more typical than real ones exceed 1 % as well."
    )
    closer_to_members: Estimate = Field(
        description="Share of rows under audit that are closer to a member than to any non-member, "
        "over sets of equal size and classes, ties as halves; ½ if nothing was memorised. With f "
        "times as many members as non-members, a draw holds 1 in f of what may have been copied."
    )
    independent_comparisons: float = Field(
        description="The effective number of comparisons its interval rests on: rows under audit "
        "with the same closest reference row are one."
    )
    histogram: Histogram = Field(description="The distances, for a plot.")


def measure_distances(evidence: DistanceEvidence, settings: DistanceSettings) -> Distances:
    """All figures, from one pass over the members and one over the non-members for the queries.

    >>> random = np.random.default_rng(0)
    >>> def unit(rows):
    ...     vectors = random.standard_normal((rows, 8))
    ...     return (vectors / np.linalg.norm(vectors, axis=1)[:, None]).astype(np.float32)
    >>> zeros = [np.zeros(n, np.int64) for n in (50, 400, 100)]
    >>> found = measure_distances(
    ...     DistanceEvidence(unit(50), unit(400), unit(100), *zeros), DistanceSettings()
    ... )
    >>> found.draws, found.closer_to_members.low < 0.5 < found.closer_to_members.high
    (4, True)
    """
    members, others = _as_blocks(evidence.members), _as_blocks(evidence.non_members)
    _check(evidence, members, others)
    random = rng(settings.seed, "matched draws")
    queries = evidence.queries[_sample(len(evidence.queries), settings.most_queries, random)]
    held_out = _read(others, _sample(others.shape[0], settings.most_queries, random))
    drawn = matched_draws(
        evidence.member_labels, evidence.non_member_labels, settings.draws, random
    )

    to_members = closest_rows(queries, members, drawn.members)
    to_others = closest_rows(queries, others, drawn.non_members)
    held_to_members = closest_rows(held_out, members, np.full(members.shape[0], NO_DRAW))
    comparison = _compare(to_members, to_others, settings.level)
    unseen = held_to_members.first.distance
    return Distances(
        queries=len(queries),
        members=members.shape[0],
        non_members=others.shape[0],
        matched_rows=int((drawn.members == 0).sum()),
        draws=comparison.draws,
        closest_member=_quantiles(to_members.first.distance),
        held_out_closest_member=_quantiles(unseen),
        closest_matched_member=_quantiles(to_members.over_draws),
        closest_matched_non_member=_quantiles(to_others.over_draws),
        ratio=_quantiles(to_members.ratio),
        held_out_ratio=_quantiles(held_to_members.ratio),
        unusually_close=float((to_members.first.distance < np.quantile(unseen, 0.01)).mean()),
        closer_to_members=Estimate.of(comparison.share),
        independent_comparisons=comparison.independent,
        histogram=_histogram(settings.bins, to_members, to_others, unseen),
    )


class _Comparison(NamedTuple):
    share: Interval
    independent: float
    draws: int


def _compare(to_members: Closest, to_others: Closest, level: float) -> _Comparison:
    """The share S of queries that are closer to members, and its interval.

    In one draw, let j be the closest of all 2n references to a query, and z_j whether it is a
    member. If members and non-members could change places, the z_j are coin tosses, and with m_j
    queries closest to j

        S = Σ_j (m_j / Q) z_j,    Var S = ¼ Σ_j (m_j / Q)²,

    whatever the queries are and however they crowd: Q² / Σ m_j² is the number of independent
    comparisons. To count queries instead would be to forget that the references are a sample.

    Over G draws of one side against the same rows of the other, S is the mean. What two draws
    have in common is the other side, and that is at most half the variance, because either side
    matters as much: Var ≤ ¼ mean(Σ m_j² / Q²) (G + 1) / 2G. The interval is Wilson's for that
    many comparisons.
    """
    n_draws = max(len(to_members.draws), len(to_others.draws))
    shares, crowding = np.empty(n_draws), np.empty(n_draws)
    for draw in range(n_draws):
        member = to_members.draws[draw % len(to_members.draws)]
        other = to_others.draws[draw % len(to_others.draws)]
        closer = member.distance < other.distance
        shares[draw] = closer.mean() + (member.distance == other.distance).mean() / 2
        closest = np.where(closer, member.row, -1 - other.row)
        times = np.unique(closest, return_counts=True)[1]
        crowding[draw] = (times**2).sum() / times.sum() ** 2
    independent = 2 * n_draws / (n_draws + 1) / float(crowding.mean())
    interval = effective_share_interval(float(shares.mean()), independent, level)
    return _Comparison(interval, independent, n_draws)


def _quantiles(values: Float64 | Float32) -> Quantiles:
    p01, p05, median, p95 = np.quantile(values.astype(np.float64), [0.01, 0.05, 0.5, 0.95]).tolist()
    return Quantiles(
        smallest=float(values.min()),
        p01=p01,
        p05=p05,
        median=median,
        p95=p95,
        mean=float(values.mean()),
    )


def _histogram(bins: int, members: Closest, others: Closest, unseen: Float32) -> Histogram:
    all_of_them = (members.first.distance, unseen, members.over_draws, others.over_draws)
    edges = np.linspace(0, max(float(values.max()) for values in all_of_them) + 1e-6, bins + 1)
    bars = [(np.histogram(values, edges)[0] / len(values)).tolist() for values in all_of_them]
    return Histogram(
        edges=edges.tolist(),
        queries_to_members=bars[0],
        held_out_to_members=bars[1],
        queries_to_matched_members=bars[2],
        queries_to_matched_non_members=bars[3],
    )


def _sample(n_rows: int, most: int, random: np.random.Generator) -> Int64:
    return np.sort(random.permutation(n_rows)[:most])


def _read(rows: RowBlocks, chosen: Int64) -> Float32:
    def take(start: int, block: Float32) -> Float32:
        inside = chosen[(chosen >= start) & (chosen < start + len(block))]
        return block[inside - start]

    return np.concatenate(list(map_blocks(take, rows)))


def _as_blocks(rows: RowBlocks | Float32) -> RowBlocks:
    return ArrayBlocks(rows) if isinstance(rows, np.ndarray) else rows


def _check(evidence: DistanceEvidence, members: RowBlocks, others: RowBlocks) -> None:
    labels = evidence.member_labels, evidence.non_member_labels
    if not len(evidence.queries) or not np.intersect1d(*labels).size:
        raise InputError(
            "there are no rows under audit, or no class with members and non-members",
            where="distances",
            allowed="one row or more, and one member and non-member of the same class",
        )
    sizes = len(evidence.queries), members.shape[0], others.shape[0]
    if sizes != tuple(len(side) for side in (evidence.query_labels, *labels)):
        raise ValueError(f"vectors of {sizes} rows have labels of other lengths")
