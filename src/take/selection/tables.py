"""Row numbers of tables by their ids and texts, as selection needs them."""

from __future__ import annotations

import logging

import numpy as np
import pandas as pd

from take.rows.arrays import Int64
from take.rows.labelled import TEXT_COLUMNS, task_of, text_keys

_logger = logging.getLogger(__name__)


def unseen_rows(corpus: pd.DataFrame, generator_rows: pd.DataFrame, wanted: int) -> Int64:
    """Rows whose texts the language model was not trained on, under any label.

    The rows that stopped its training are excluded, too, unless fewer than `wanted` would be left.
    """
    keys = text_keys(corpus, TEXT_COLUMNS[task_of(corpus)])
    for roles in (("trained", "validation"), ("trained",)):
        used = generator_rows.loc[generator_rows["role"].isin(roles), "id"]
        seen = keys[corpus["id"].isin(set(used))]
        unseen = np.flatnonzero(~keys.isin(set(seen)))
        if len(unseen) >= wanted:
            break
    return unseen


def path_table(paths: tuple[Int64, ...], pool: pd.DataFrame) -> pd.DataFrame:
    """Nested choices by part, rank and id; empty if there are none."""
    part = np.repeat(np.arange(len(paths)), [len(path) for path in paths])
    rows = np.concatenate([np.empty(0, dtype=np.int64), *paths])
    rank = np.concatenate([np.empty(0, dtype=np.int64), *(np.arange(len(p)) + 1 for p in paths)])
    return pd.DataFrame({"part": part, "rank": rank, "id": pool["id"].to_numpy()[rows]})


def paths_of(table: pd.DataFrame, pool: pd.DataFrame) -> list[Int64]:
    """The pool rows of a table that `path_table` made."""
    places = pd.Index(pool["id"]).get_indexer(table["id"])
    return [places[rows] for rows in table.groupby("part").indices.values()]


def without_copies(
    pool: pd.DataFrame, corpus: pd.DataFrame, evaluation_split: pd.DataFrame
) -> Int64:
    """The candidates whose texts are in neither split."""
    columns = TEXT_COLUMNS[task_of(corpus)]
    known = {key for rows in (corpus, evaluation_split) for key in text_keys(rows, columns)}
    copies = text_keys(pool, columns).isin(known).to_numpy()
    if copies.any():
        _logger.info("%s candidates copy a new row and are excluded.", int(copies.sum()))
    return np.flatnonzero(~copies)


def places_of(previous: pd.DataFrame, pool: pd.DataFrame) -> Int64:
    """The pool rows that were distilled before."""
    columns = ["id", "label", *TEXT_COLUMNS[task_of(pool)]]
    places = pool[columns].assign(place=np.arange(len(pool)))
    found = previous[columns].merge(places, on=columns)["place"].to_numpy(dtype=np.int64)
    if len(found) < len(previous):
        _logger.warning(
            "%s of %s rows distilled before are no longer in the pool.",
            len(previous) - len(found),
            len(previous),
        )
    return found
