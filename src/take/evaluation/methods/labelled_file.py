"""Labelled rows from a file, checked against the corpus that they are evaluated on."""

from __future__ import annotations

import csv
import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from take.corpus.files import check_file
from take.corpus.labels import label_ids, shown
from take.corpus.reading import check_columns, read_table
from take.corpus.sources import RawSplit
from take.corpus.validation import check_texts
from take.errors import InputError, closest
from take.rows.arrays import Float64, Int64
from take.rows.labelled import TEXT_COLUMNS, Task

MAX_TEXT_CHARS = 1_000_000
_TEXT_FILES = (".csv", ".jsonl")

_logger = logging.getLogger(__name__)


def read_labelled(path: Path, task: Task) -> RawSplit:
    """The rows of a .parquet, .csv or .jsonl file, if they are of the corpus's task."""
    check_file(path, "evaluation.baselines.file")
    if path.suffix.lower() in _TEXT_FILES:
        _check_readable(path)
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
    if found:
        check_columns(found, columns, str(path), "rename the file's columns")
    return RawSplit(read_table(path, columns), str(path))


def checked_texts(split: RawSplit, task: Task) -> list[list[str]]:
    """Its texts by column; blank or missing ones are refused with their row."""
    check_texts(split, TEXT_COLUMNS[task], MAX_TEXT_CHARS)
    return [split.rows[column].tolist() for column in TEXT_COLUMNS[task]]


def checked_labels(split: RawSplit, names: Sequence[str]) -> Int64:
    """Its labels' ids; a label the corpus does not have is refused, and so is a class without rows.

    `label_name` decides where there is one: ids mean nothing without their names. A `label` next
    to it must be its id or the name itself.
    """
    column = "label_name" if "label_name" in split.rows else "label"
    _refuse_unknown(split, column, names)
    labels = label_ids(RawSplit(pd.DataFrame({"label": split.rows[column]}), split.origin), names)
    _check_agreement(split, labels, names)
    missing = [name for label, name in enumerate(names) if not (labels == label).any()]
    if missing:
        raise InputError(
            f"no row has the label {', '.join(map(repr, missing))}",
            where=split.origin,
            allowed=f"rows of each of {', '.join(map(repr, names))}",
            remedy="add rows of it: a learner cannot predict a class that it never saw",
        )
    return labels


def checked_weights(split: RawSplit) -> Float64:
    """Its `weight` column scaled to mean 1; ones where there is none."""
    if "weight" not in split.rows:
        return np.ones(len(split.rows))
    weights = np.array([_number(value) for value in split.rows["weight"]])
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(bad) or not 0 < weights.sum() < np.inf:
        row = int(bad[0]) if len(bad) else 0
        raise InputError(
            f"the weight is {shown(split.rows['weight'].iloc[row])}",
            where=f"{split.origin}, row {row + 1}, column 'weight'",
            allowed="numbers of at least 0, one of them above",
            remedy="correct it, or drop the column to weigh all rows equally",
        )
    scaled: Float64 = weights / weights.mean()
    return scaled


def warn_of_repeats(texts: list[list[str]], labels: Int64, origin: str) -> None:
    """Log how many rows repeat the texts of an earlier one; they are used nevertheless."""
    first: dict[tuple[str, ...], int] = {}
    repeats = [
        (row, earlier)
        for row, key in enumerate(zip(*texts, strict=True))
        if (earlier := first.setdefault(key, row)) != row
    ]
    if repeats:
        row, earlier = repeats[0]
        _logger.warning(
            "%s: %s of %s rows repeat the texts of an earlier one, %s of them under another label "
            "(the first: row %s repeats row %s). All are used.",
            origin,
            f"{len(repeats):,}",
            f"{len(labels):,}",
            f"{sum(labels[row] != labels[earlier] for row, earlier in repeats):,}",
            row + 1,
            earlier + 1,
        )


def _refuse_unknown(split: RawSplit, column: str, names: Sequence[str]) -> None:
    """`label_ids` refuses them, too, but its message assumes that the corpus is wrong."""
    values = split.rows[column].tolist()
    known = {key: _is_label(value, names) for key, value in {repr(v): v for v in values}.items()}
    unknown = [row for row, value in enumerate(values) if not known[repr(value)]]
    if unknown:
        value = values[unknown[0]]
        others = f" (and {len(unknown) - 1:,} more rows)" if len(unknown) > 1 else ""
        raise InputError(
            f"unknown label {shown(value)}{others}",
            where=f"{split.origin}, row {unknown[0] + 1}, column {column!r}",
            allowed="the name or the id (a whole number) of one of the corpus's labels",
            remedy=closest(str(value)[:60], names),
        )


def _is_label(value: Any, names: Sequence[str]) -> bool:
    try:
        label_ids(RawSplit(pd.DataFrame({"label": [value]}, dtype=object), ""), names)
    except InputError:
        return False
    return True


def _check_agreement(split: RawSplit, labels: Int64, names: Sequence[str]) -> None:
    if not {"label", "label_name"} <= set(split.rows):
        return
    for row, (label, value) in enumerate(zip(labels, split.rows["label"], strict=True)):
        if str(value) not in (str(label), names[label]):
            raise InputError(
                f"label {shown(value)} is not that of label_name {names[label]!r}",
                where=f"{split.origin}, row {row + 1}, column 'label'",
                allowed=f"{label} or {names[label]!r}",
                remedy="correct the row, or drop one of the two columns",
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
            return list(json.loads(next((line for line in stream if line.strip()), "")))
    except (OSError, ValueError, TypeError, RecursionError, csv.Error):
        return []


def _check_readable(path: Path) -> None:
    content = path.read_bytes()
    if not content.strip():
        raise InputError("the file is empty", where=str(path), remedy="write rows into it")
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"byte 0x{content[error.start]:02x} is not UTF-8",
            where=f"{path}, line {content.count(10, 0, error.start) + 1}",
            remedy="save the file as UTF-8",
        ) from error


def _named(task: Task) -> str:
    return "single texts" if task == "single" else "pairs of texts"


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")
