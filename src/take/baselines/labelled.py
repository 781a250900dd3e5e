"""Labelled rows out of a file, held against the corpus they are to be evaluated on."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from take.baselines.material import Float64
from take.corpus.reading import read_table
from take.corpus.sources import RawSplit
from take.corpus.spec import TEXT_COLUMNS, Task
from take.corpus.validation import check_texts, label_ids
from take.errors import InputError
from take.selection.rows import Indices

MAX_TEXT_CHARS = 1_000_000


def read_labelled(path: Path, task: Task) -> RawSplit:
    """The rows of a .parquet, .csv or .jsonl file, if they are of the corpus's task."""
    found, wanted = _columns_of(path), TEXT_COLUMNS[task]
    other: Task = "pair" if task == "single" else "single"
    if not set(wanted) <= set(found) and set(TEXT_COLUMNS[other]) <= set(found):
        raise InputError(
            f"its rows are {_named(other)} (columns {', '.join(TEXT_COLUMNS[other])})",
            where=str(path),
            allowed=f"{_named(task)} (columns {', '.join(wanted)}), as the corpus has them",
            remedy="evaluate it on the corpus it was made from",
        )
    optional = [name for name in ("label_name", "weight") if name in found]
    has_label = "label" in found or "label_name" not in found
    columns = [*wanted, *(["label"] if has_label else []), *optional]
    return RawSplit(read_table(path, columns), str(path))


def checked_texts(split: RawSplit, task: Task) -> list[list[str]]:
    """Its texts by column; blank or missing ones are refused with their row."""
    check_texts(split, TEXT_COLUMNS[task], MAX_TEXT_CHARS)
    return [split.rows[column].tolist() for column in TEXT_COLUMNS[task]]


def checked_labels(split: RawSplit, names: Sequence[str]) -> Indices:
    """Its labels' ids; a label the corpus does not have is refused, and so is a class without rows.

    `label_name` decides where there is one: ids mean nothing without their names. A `label` beside
    it must be its id or itself.
    """
    if "label_name" in split.rows:
        named = split.rows.drop(columns="label", errors="ignore")
        labels = label_ids(
            RawSplit(named.rename(columns={"label_name": "label"}), split.origin), names
        )
        _check_agreement(split, labels, names)
    else:
        labels = label_ids(split, names)
    missing = [name for label, name in enumerate(names) if not (labels == label).any()]
    if missing:
        raise InputError(
            f"no row has the label {', '.join(map(repr, missing))}",
            where=split.origin,
            allowed=f"rows of each of {', '.join(map(repr, names))}",
            remedy="add rows of it; a learner cannot learn a class it never sees",
        )
    return labels


def checked_weights(split: RawSplit) -> Float64:
    """Its `weight` column scaled to mean 1; ones where there is none."""
    if "weight" not in split.rows:
        return np.ones(len(split.rows))
    weights = np.array([_number(value) for value in split.rows["weight"]])
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(bad) or not weights.sum() > 0:
        row = int(bad[0]) if len(bad) else 0
        raise InputError(
            f"the weight is {str(split.rows['weight'].iloc[row])[:60]!r}",
            where=f"{split.origin}, row {row + 1}, column 'weight'",
            allowed="numbers of at least 0, one of them above",
            remedy="mend it, or drop the column to weigh all rows alike",
        )
    scaled: Float64 = weights / weights.mean()
    return scaled


def _check_agreement(split: RawSplit, labels: Indices, names: Sequence[str]) -> None:
    if "label" not in split.rows:
        return
    for row, (label, value) in enumerate(zip(labels, split.rows["label"], strict=True)):
        if str(value) not in (str(label), names[label]):
            raise InputError(
                f"label {str(value)[:60]!r} is not that of label_name {names[label]!r}",
                where=f"{split.origin}, row {row + 1}, column 'label'",
                allowed=f"{label} or {names[label]!r}",
                remedy="mend the row, or drop one of the two columns",
            )


def _columns_of(path: Path) -> list[str]:
    """Its columns; none where the file cannot be read, which `read_table` then explains."""
    import pyarrow.parquet as pq

    try:
        if path.suffix.lower() == ".parquet":
            return list(pq.read_schema(path).names)
        with path.open(encoding="utf-8-sig", newline="") as stream:
            if path.suffix.lower() == ".csv":
                return next(csv.reader(stream), [])
            return list(json.loads(stream.readline()))
    except (OSError, ValueError, TypeError, csv.Error):
        return []


def _named(task: Task) -> str:
    return "single texts" if task == "single" else "pairs of texts"


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")
