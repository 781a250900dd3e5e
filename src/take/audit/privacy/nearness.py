"""Whether generated rows are nearer to what the language model has read than to what it has not.

Which corpus rows it was trained on was a seeded draw within each class, so that those it never
read are as good a reference as can be had: only memorising tells the two apart. The evaluation
split is not, nor are rows that came in since, nor such as were passed over for their weights. In
sst2, for one, train has phrases and the evaluation split has sentences, and
generated phrases are nearer to phrases whatever was memorised.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from take.audit.privacy.distances import DistanceEvidence, DistanceSettings, measure_distances
from take.audit.privacy.report import DistancesReport, Table
from take.encoder.embeddings import Embeddings
from take.rows.arrays import Int64
from take.rows.labelled import TEXT_COLUMNS, class_ids, task_of, text_keys
from take.rows.random import rng

_MOST_ROWS = 20_000


def measured_nearness(
    tables: Mapping[Table, Int64],
    pool: pd.DataFrame,
    pool_embeddings: Embeddings,
    corpus: pd.DataFrame,
    embeddings: Embeddings,
    generator_rows: pd.DataFrame,
    settings: DistanceSettings,
) -> DistancesReport:
    """Distances of rows of the pool, by table; nothing where no class has rows on both sides."""
    roles, was_used = generator_rows["role"], generator_rows["read"] > 0
    is_member = corpus["id"].isin(set(generator_rows.loc[was_used, "id"])).to_numpy()
    # Neither rows that came in later, nor such as their weights kept apart.
    apart_by_chance = set(generator_rows.loc[roles.isin(["held_out", "unread"]), "id"])
    is_other = corpus["id"].isin(apart_by_chance).to_numpy()
    keys = text_keys(corpus, TEXT_COLUMNS[task_of(corpus)])
    # A text that stands in the corpus twice, under two labels, was read in either row.
    was_read = keys.isin(set(keys[is_member])).to_numpy()
    labels = class_ids(corpus)
    random = rng(settings.seed, "distance sample")
    members = _some(np.flatnonzero(is_member), random)
    others = _some(np.flatnonzero(is_other & ~was_read), random)
    if not np.intersect1d(labels[members], labels[others]).size:
        return DistancesReport(tables={})
    member_vectors, other_vectors = (_vectors(embeddings, rows) for rows in (members, others))
    pool_labels = class_ids(pool)
    return DistancesReport(
        tables={
            name: measure_distances(
                DistanceEvidence(
                    queries=_vectors(pool_embeddings, rows),
                    members=member_vectors,
                    non_members=other_vectors,
                    query_labels=pool_labels[rows],
                    member_labels=labels[members],
                    non_member_labels=labels[others],
                ),
                settings,
            )
            for name, rows in tables.items()
        }
    )


def _some(rows: Int64, random: np.random.Generator) -> Int64:
    return np.sort(random.permutation(rows)[:_MOST_ROWS])


def _vectors(embeddings: Embeddings, rows: Int64) -> NDArray[np.float32]:
    chosen = Embeddings(embeddings.strings, embeddings.rows[rows])
    return chosen.read(0, len(rows))
