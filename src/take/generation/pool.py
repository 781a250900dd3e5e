"""The pool: rows generated and screened, round by round, until each class has its share."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from take.rows.labelled import content_id

_logger = logging.getLogger(__name__)

_HOPE = 1.05
"""Factor on what the rate so far calls for: one more round costs more than a few rows."""


def fill_pool(
    read_rows: Callable[[int, int, int], pd.DataFrame],
    judge: Callable[[pd.DataFrame, Mapping[int, int]], pd.DataFrame],
    shares: Sequence[int],
    label_names: Sequence[str],
    tries: float,
) -> pd.DataFrame:
    """Every row generated, with its verdict, until each class has its share or gives up.

    A round asks each class for what it lacks, by the rate at which it was kept so far. A class
    gives up after `tries` × its share rows. Rounds depend on verdicts alone, so the same rows
    give the same pool, however they are batched.
    """
    rounds: list[pd.DataFrame] = []
    made, kept = np.zeros(len(shares), dtype=int), np.zeros(len(shares), dtype=int)
    limits = [math.ceil(tries * share) for share in shares]
    while True:
        wanted = [
            min(_rows_to_ask(share, kept[c], made[c]), limits[c] - made[c])
            for c, share in enumerate(shares)
        ]
        if not any(wanted):
            break
        parts = [
            read_rows(c, made[c], made[c] + count) for c, count in enumerate(wanted) if count > 0
        ]
        candidates = pd.concat(parts, ignore_index=True)
        room = {c: share - int(kept[c]) for c, share in enumerate(shares)}
        judged = candidates.assign(**judge(candidates, room))
        made += wanted
        kept += np.bincount(judged.loc[judged["reason"] == "", "label"], minlength=len(shares))
        rounds.append(judged)
    for c, share in enumerate(shares):
        if kept[c] < share:
            _logger.warning(
                "Class '%s' has %s of the %s rows wanted after %s tries; going on with those. "
                "More: raise generation.sampling.tries, or see the ledger for what was dropped.",
                label_names[c],
                f"{kept[c]:,}",
                f"{share:,}",
                f"{made[c]:,}",
            )
    return pd.concat(rounds, ignore_index=True)


def _rows_to_ask(share: int, kept: int, made: int) -> int:
    """Rows that would fill a share at the rate so far; all of it when nothing is known.

    >>> _rows_to_ask(100, 0, 0), _rows_to_ask(100, 80, 100), _rows_to_ask(100, 100, 130)
    (100, 27, 0)
    """
    lacking = share - kept
    if lacking <= 0 or not made:
        return max(lacking, 0)
    rate = max(kept, 1) / made
    return math.ceil(lacking / rate * _HOPE)


def pool_rows(
    judged: pd.DataFrame, label_names: Sequence[str], columns: Sequence[str]
) -> pd.DataFrame:
    """The kept rows, class by class: id, texts, label, label_name, and what the probe thinks."""
    kept = judged[judged["reason"] == ""].sort_values(["label", "index"], ignore_index=True)
    names = [label_names[label] for label in kept["label"]]
    texts = {column: kept[column].tolist() for column in columns}
    ids = [content_id(parts) for parts in zip(*texts.values(), names, strict=True)]
    pool = pd.DataFrame({"id": ids, **texts, "label": kept["label"], "label_name": names})
    pool = pool.astype(dict.fromkeys(["id", *columns, "label_name"], "str"))
    return pool.assign(probe_label=kept["probe_label"], probe_confidence=kept["probe_confidence"])


def ledger_rows(judged: pd.DataFrame, label_names: Sequence[str]) -> pd.DataFrame:
    """The dropped rows: label, label_name, index, reason, detail, and what was written."""
    dropped = judged[judged["reason"] != ""].sort_values(["label", "index"], ignore_index=True)
    dropped.insert(1, "label_name", [label_names[label] for label in dropped["label"]])
    return dropped
