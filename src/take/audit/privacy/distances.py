"""Whether rows are closer to what the language model was trained on than to what it was not.

Closeness alone says little: rows of one subject are close to each other. Two comparisons say more.
The distances of unseen rows to the members are what real rows have. And if nothing was memorised,
members and non-members are interchangeable, so that a query is as often closest to the one as to
the other: that share, over sets of equal size and classes, has a known value, ½.

Members and non-members are corpus rows: which of them the language model was trained on was a
seeded draw within each class, so that only memorisation distinguishes the two. The evaluation split
is no such reference, nor are rows added later or excluded for their weights. In sst2, for one,
train has phrases and the evaluation split has sentences, and generated phrases are closer to
phrases whatever was memorised.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from pydantic import Field

from take.audit.intervals import Estimate, effective_share_interval
from take.audit.privacy.report import Distances, DistancesReport, Histogram, Quantiles, Table
from take.encoder.embeddings import Embeddings
from take.errors import InputError
from take.frozen import Frozen
from take.rows.arrays import Float32, Float64, Int64
from take.rows.blocks import ArrayBlocks
from take.rows.labelled import TEXT_COLUMNS, class_ids, task_of, text_codes
from take.rows.nearest import NO_DRAW, Closest, closest_rows
from take.rows.random import rng
from take.rows.strings import is_among

_MOST_DRAWS = 20
"""Samples of the larger of the two sides that are compared with the smaller."""
_MOST_ROWS = 20_000
"""Members, and non-members, that are compared; of more, a random sample is."""


class DistanceSettings(Frozen):
    """`params:audit.distances`.

    >>> DistanceSettings(bins=10).most_queries
    2000
    """

    most_queries: int = Field(
        default=2000, ge=10, description="rows that are measured; of more, a random sample is"
    )
    bins: int = Field(default=40, ge=2, le=1000, description="bars of the histograms")
    seed: int = Field(default=0, ge=0, lt=2**32)


def measure_tables(
    tables: Mapping[Table, Int64],
    pool_embeddings: Embeddings,
    corpus: pd.DataFrame,
    embeddings: Embeddings,
    generator_rows: pd.DataFrame,
    settings: DistanceSettings,
) -> DistancesReport:
    """Distances of rows of the pool, by table; nothing where no class has rows on both sides."""
    roles, was_used = generator_rows["role"], generator_rows["read"] > 0
    is_member = is_among(corpus["id"], generator_rows.loc[was_used, "id"])
    # Neither rows that were added later, nor rows that were excluded for their weights.
    randomly_held_out = generator_rows.loc[roles.isin(["validation", "unread"]), "id"]
    is_other = is_among(corpus["id"], randomly_held_out)
    codes = text_codes(corpus, TEXT_COLUMNS[task_of(corpus)])
    # The model has read a text that is in the corpus twice, under two labels, in either row.
    was_read = np.isin(codes, codes[is_member])
    labels = class_ids(corpus)
    random = rng(settings.seed, "distance sample")
    members = _sample(np.flatnonzero(is_member), _MOST_ROWS, random)
    others = _sample(np.flatnonzero(is_other & ~was_read), _MOST_ROWS, random)
    if not np.intersect1d(labels[members], labels[others]).size:
        return DistancesReport(tables={})
    member_vectors, other_vectors = (_vectors(embeddings, rows) for rows in (members, others))
    return DistancesReport(
        tables={
            name: measure_distances(
                _vectors(pool_embeddings, rows),
                member_vectors,
                other_vectors,
                labels[members],
                labels[others],
                settings,
            )
            for name, rows in tables.items()
        }
    )


def measure_distances(
    queries: Float32,
    members: Float32,
    non_members: Float32,
    member_labels: Int64,
    non_member_labels: Int64,
    settings: DistanceSettings,
) -> Distances:
    """All figures, from one pass over the members and one over the non-members for the queries.

    `queries` are the rows under audit; rows are unit vectors φ, and labels are classes.

    >>> random = np.random.default_rng(0)
    >>> def unit(rows):
    ...     vectors = random.standard_normal((rows, 8))
    ...     return (vectors / np.linalg.norm(vectors, axis=1)[:, None]).astype(np.float32)
    >>> zeros = [np.zeros(n, np.int64) for n in (400, 100)]
    >>> found = measure_distances(
    ...     unit(50), unit(400), unit(100), *zeros, DistanceSettings()
    ... )
    >>> found.draws, found.closer_to_members.low < 0.5 < found.closer_to_members.high
    (4, True)
    """
    labels = member_labels, non_member_labels
    if not len(queries) or not np.intersect1d(*labels).size:
        raise InputError(
            "there are no rows under audit, or no class with members and non-members",
            where="distances",
            allowed="one row or more, and one member and non-member of the same class",
        )
    n_members, n_others = sizes = len(members), len(non_members)
    if sizes != tuple(map(len, labels)):
        raise ValueError(f"vectors of {sizes} rows have labels of other lengths")
    random = rng(settings.seed, "matched draws")
    queries = queries[_sample(np.arange(len(queries)), settings.most_queries, random)]
    unseen = non_members[_sample(np.arange(n_others), settings.most_queries, random)]
    member_draws, other_draws = matched_draws(*labels, _MOST_DRAWS, random)

    to_members = closest_rows(queries, ArrayBlocks(members), member_draws)
    to_others = closest_rows(queries, ArrayBlocks(non_members), other_draws)
    no_draws = np.full(n_members, NO_DRAW)
    unseen_to_members = closest_rows(unseen, ArrayBlocks(members), no_draws)
    closer, independent, n_draws = _compare(to_members, to_others)
    distance, unseen_distance = to_members.first.distance, unseen_to_members.first.distance
    return Distances(
        queries=len(queries),
        members=n_members,
        non_members=n_others,
        matched_rows=int((member_draws == 0).sum()),
        draws=n_draws,
        closest_member=_quantiles(distance),
        unseen_closest_member=_quantiles(unseen_distance),
        closest_matched_member=_quantiles(to_members.over_draws),
        closest_matched_non_member=_quantiles(to_others.over_draws),
        ratio=_quantiles(to_members.ratio),
        unseen_ratio=_quantiles(unseen_to_members.ratio),
        unusually_close=float((distance < np.quantile(unseen_distance, 0.01)).mean()),
        closer_to_members=closer,
        independent_comparisons=independent,
        histogram=_histogram(
            settings.bins,
            queries_to_members=distance,
            unseen_to_members=unseen_distance,
            queries_to_matched_members=to_members.over_draws,
            queries_to_matched_non_members=to_others.over_draws,
        ),
    )


def matched_draws(
    member_labels: Int64, other_labels: Int64, most_draws: int, rng: np.random.Generator
) -> tuple[Int64, Int64]:
    """Which draw each row of either side belongs to; all have as many rows of each class.

    Draws have no row in common; of the smaller side there is one, the whole of it.

    >>> members, others = np.array([0, 0, 1, 1, 1, 1]), np.array([1, 1, 2])
    >>> ours, theirs = matched_draws(members, others, 9, np.random.default_rng(0))
    >>> np.bincount(ours + 1).tolist(), theirs.tolist()
    ([2, 2, 2], [0, 0, -1])
    """
    sides = (member_labels, other_labels)
    common = np.intersect1d(member_labels, other_labels)
    sizes = {label: min(int((side == label).sum()) for side in sides) for label in common}
    drawn = []
    for side in sides:
        n_draws = min(
            [most_draws, *(int((side == label).sum()) // n for label, n in sizes.items())]
        )
        draw = np.full(len(side), NO_DRAW, dtype=np.int64)
        for label, n in sizes.items():
            rows = rng.permutation(np.flatnonzero(side == label))[: n * n_draws]
            draw[rows] = np.arange(len(rows)) // n
        drawn.append(draw)
    return drawn[0], drawn[1]


def _compare(to_members: Closest, to_others: Closest) -> tuple[Estimate, float, int]:
    """The share S of queries that are closer to members, independent comparisons, and draws.

    In one draw, let j be the closest of all 2n references to a query, and z_j whether it is a
    member. If members and non-members are interchangeable, the z_j are coin tosses, and with m_j
    queries closest to j

        S = Σ_j (m_j / Q) z_j,    Var S = ¼ Σ_j (m_j / Q)²,

    whatever the queries are and however they crowd: Q² / Σ m_j² is the number of independent
    comparisons. Counting queries instead would ignore that the references are a sample.

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
    interval = effective_share_interval(float(shares.mean()), independent)
    return interval, independent, n_draws


def _quantiles(values: Float64 | Float32) -> Quantiles:
    levels = {"p01": 0.01, "p05": 0.05, "median": 0.5, "p95": 0.95}
    found = np.quantile(values.astype(np.float64), list(levels.values())).tolist()
    named = dict(zip(levels, found, strict=True))
    return Quantiles(smallest=float(values.min()), mean=float(values.mean()), **named)


def _histogram(bins: int, **distances: Float64 | Float32) -> Histogram:
    edges = np.linspace(0, max(float(d.max()) for d in distances.values()) + 1e-6, bins + 1)
    bars = {name: (np.histogram(d, edges)[0] / len(d)).tolist() for name, d in distances.items()}
    return Histogram(edges=edges.tolist(), **bars)


def _sample(rows: Int64, most: int, random: np.random.Generator) -> Int64:
    return np.sort(random.permutation(rows)[:most])


def _vectors(embeddings: Embeddings, rows: Int64) -> Float32:
    return Embeddings(embeddings.strings, embeddings.rows[rows]).read(0, len(rows))
