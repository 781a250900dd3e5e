"""Refusing rows that cannot be used, with the file, the row, the column and the value."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from take.corpus.sources import RawSplit
from take.errors import InputError, closest
from take.rows.arrays import Int64

_INTEGER = re.compile(r"-?[0-9]+")


def check_texts(split: RawSplit, columns: Sequence[str], max_chars: int) -> None:
    """Refuse a split that is empty or has a text that cannot be used."""
    if split.rows.empty:
        raise InputError("there are no rows", where=split.origin, remedy="check the file or filter")
    checks: tuple[tuple[Callable[[Any], bool], str, str], ...] = (
        (_is_null, "the text is null", "fill it or drop the row"),
        (lambda text: not isinstance(text, str), "the text is not a string", "quote or convert it"),
        (lambda text: not text.strip(), "the text is blank", "fill it or drop the row"),
        (
            lambda text: len(text) > max_chars,
            f"the text is longer than {max_chars:,} characters",
            "cut it, or raise ingestion.max_text_chars",
        ),
        (lambda text: "\0" in text, "the text holds a NUL character", "remove it"),
        (is_unencodable, "the text holds half a surrogate pair", "repair its \\u escapes"),
    )
    for column in columns:
        values = split.rows[column].tolist()
        # One pass per check: the first check that fails anywhere decides the message, and a later
        # check may rely on the earlier ones having passed for every row.
        for is_bad, problem, remedy in checks:
            bad_rows = [row for row, value in enumerate(values) if is_bad(value)]
            if bad_rows:
                raise _row_error(split, column, bad_rows, values, problem, remedy)


def label_names(train: RawSplit, declared: Sequence[str] | None) -> tuple[str, ...]:
    """The declared label names, or the train split's label values in order."""
    if declared is not None:
        return tuple(declared)
    values = train.rows["label"].tolist()
    _check_label_types(train, values)
    found = {_label_key(value) for value in values}
    if len(found) < 2:
        raise InputError(
            f"every row has the label {found.pop()!r}",
            where=train.origin,
            allowed="two labels or more",
            remedy="check which column 'label' names in corpora.yml",
        )
    if all(_INTEGER.fullmatch(key) for key in found):
        return tuple(sorted(found, key=lambda key: (int(key), key)))
    return tuple(sorted(found))


def label_ids(split: RawSplit, names: Sequence[str]) -> Int64:
    """Each row's label id; a value is a label's name or its id.

    Where names are numbers themselves, a value is a name and nothing else: of the labels '1' and
    '2', a 0 is neither.
    """
    values = split.rows["label"].tolist()
    _check_label_types(split, values)
    ids = {name: class_id for class_id, name in enumerate(names)}
    if not any(_INTEGER.fullmatch(name) for name in names):
        ids |= {str(class_id): class_id for class_id in range(len(names))}
    found = [ids.get(_label_key(value), -1) for value in values]
    unknown = [row for row, class_id in enumerate(found) if class_id < 0]
    if unknown:
        key = _label_key(values[unknown[0]])[:60]
        raise _row_error(
            split,
            "label",
            unknown,
            values,
            f"unknown label {key!r}",
            f"{closest(key, names)} Or list it under 'labels' in corpora.yml",
        )
    return np.array(found, dtype=np.int64)


def check_classes(train: RawSplit, ids: Int64, names: Sequence[str]) -> None:
    """Refuse a train split in which fewer than two classes occur, or a declared one does not."""
    sizes = np.bincount(ids, minlength=len(names))
    present = np.flatnonzero(sizes)
    if len(present) == 1:
        raise InputError(
            f"every row has the label {names[present[0]]!r}",
            where=train.origin,
            allowed="two labels or more",
            remedy="check which column 'label' names in corpora.yml",
        )
    if len(present) < len(names):
        missing = names[int(np.flatnonzero(sizes == 0)[0])]
        raise InputError(
            f"no row has the declared label {missing!r}",
            where=train.origin,
            remedy="take it out of 'labels' in corpora.yml, or add rows",
        )


def _check_label_types(split: RawSplit, values: Sequence[Any]) -> None:
    def is_bad(value: Any) -> bool:
        return _is_null(value) or not isinstance(value, (str, int, np.integer)) or value == ""

    bad_rows = [row for row, value in enumerate(values) if is_bad(value)]
    if bad_rows:
        problem = f"the label is {values[bad_rows[0]]!r}"
        remedy = "a label is a name or an id; fill it or drop the row"
        raise _row_error(split, "label", bad_rows, values, problem, remedy)


def _label_key(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _is_null(value: Any) -> bool:
    return value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value))


def is_unencodable(text: str) -> bool:
    """Whether the text holds half a surrogate pair, which UTF-8 cannot encode."""
    return not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text)


def _row_error(
    split: RawSplit,
    column: str,
    bad_rows: Sequence[int],
    values: Sequence[Any],
    problem: str,
    remedy: str,
) -> InputError:
    first = bad_rows[0]
    value = values[first]
    shown = f"{value!r:.60}"
    if column != "label" and value is not None:
        # A corpus may be confidential: a text is never quoted.
        size = f" of {len(value):,} characters" if isinstance(value, str) else ""
        shown = f"{type(value).__name__}{size}"
    others = f" (and {len(bad_rows) - 1:,} more rows)" if len(bad_rows) > 1 else ""
    return InputError(
        f"{problem}, value {shown}{others}",
        where=f"{split.origin}, row {first + 1}, column '{column}'",
        remedy=remedy,
    )
