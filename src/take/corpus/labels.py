"""What may be a label, and the class of each row.

Labels are shown in logs, reports and MLflow, so a label has to be a short, visible name, and a text
in the place of a label (columns mapped wrongly) must not get that far.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from take.corpus.sources import RawSplit
from take.corpus.validation import (
    check_rows,
    is_null,
    is_unencodable,
    row_error,
    type_and_size,
)
from take.errors import InputError, closest
from take.rows.arrays import Int64
from take.text.characters import has_no_width, is_blank, is_misleading

MAX_LABEL_CHARS = 100
_SHOWN_CHARS = 40
"""A longer value may be a text, so messages do not quote it."""
_FEW_LABELS = 2
"""So few labels are never too many for their rows."""

_INTEGER = re.compile(r"-?[0-9]+")
_COLUMN = "check which column 'label' names in corpora.yml"


def label_names(train: RawSplit, declared: Sequence[str] | None) -> tuple[str, ...]:
    """The declared label names, or the train split's label values in order."""
    if declared is not None:
        where = "corpora.yml, 'labels'"
        for name in declared:
            if problem := _problem(name):
                raise InputError(problem, where=where, remedy="give the class another name")
        _check_blanks(declared, where)
        return tuple(declared)
    found = set(_label_keys(train).keys)
    types = _types(train)
    if len(types) > 1:
        raise InputError(
            f"the labels are of several types: {', '.join(types)}",
            where=f"{train.origin}, column 'label'",
            allowed="one type",
            remedy="write all labels alike, or list their names under 'labels' in corpora.yml",
        )
    if len(found) < 2:
        raise _single_label(train, "the same label")  # it may be a text, in a file of one row
    _check_blanks(sorted(found), f"{train.origin}, column 'label'")
    if all(_INTEGER.fullmatch(key) for key in found):
        return tuple(sorted(found, key=lambda key: (int(key), key)))
    return tuple(sorted(found))


def label_ids(split: RawSplit, names: Sequence[str]) -> Int64:
    """Each row's label id; a value is a label's name or its id.

    Where names are numbers themselves, a value is a name and nothing else: of the labels '1' and
    '2', a 0 is neither.
    """
    ids = {name: class_id for class_id, name in enumerate(names)}
    if not any(_INTEGER.fullmatch(name) for name in names):
        ids |= {str(class_id): class_id for class_id in range(len(names))}
    keys, row_key = _label_keys(split, known=ids)
    found = np.array([ids.get(key, -1) for key in keys], dtype=np.int64)[row_key]
    unknown = np.flatnonzero(found < 0)
    if len(unknown):
        key = keys[row_key[unknown[0]]]
        remedy = f"{closest(key, names)} Or list it under 'labels' in corpora.yml"
        raise row_error(split, "label", unknown, f"unknown label {shown(key)}", remedy)
    return found


def check_classes(train: RawSplit, ids: Int64, names: Sequence[str]) -> None:
    """Refuse a train split in which fewer than two classes occur, or a declared one does not."""
    sizes = np.bincount(ids, minlength=len(names))
    present = np.flatnonzero(sizes)
    if len(present) == 1:
        raise _single_label(train, f"the label {names[present[0]]!r}")
    if len(present) < len(names):
        missing = names[int(np.flatnonzero(sizes == 0)[0])]
        raise InputError(
            f"no row has the declared label {missing!r}",
            where=train.origin,
            remedy="take it out of 'labels' in corpora.yml, or add rows",
        )


def label_warnings(train: RawSplit, names: Sequence[str]) -> list[str]:
    """What may be a mistake in labels that are accepted."""
    warnings = []
    types = _types(train)
    if len(types) > 1:
        warnings.append(
            f"The labels of {train.origin} are of several types: {', '.join(types)}. Each is read "
            "as the name or the id of a class."
        )
    for alike in _groups(names, _without_case):
        listed = " and ".join(map(repr, alike))
        warnings.append(
            f"The labels {listed} differ by case or Unicode form alone. They are different classes."
        )
    return warnings


def shown(value: Any) -> str:
    """A value for messages; one that may be a text is not quoted.

    >>> shown("good"), shown("x" * 50), shown(None), shown({"body": "confidential"})
    ("'good'", 'of 50 characters', 'None', 'of type dict')
    """
    if isinstance(value, str):
        return repr(value) if len(value) <= _SHOWN_CHARS else f"of {len(value):,} characters"
    if value is None or isinstance(value, (int, float, np.number)):
        return f"{value!r:.{_SHOWN_CHARS}}"
    return f"of type {type(value).__name__}"


class _Keys(NamedTuple):
    """The labels that occur, as strings, and each row's."""

    keys: list[str]
    row_key: Int64


def _label_keys(split: RawSplit, known: Collection[str] = ()) -> _Keys:
    """Each row's label as a string, if it can be one; `known` ones need no check."""
    check_rows(split)
    values, row_value = _distinct(split.rows["label"])
    bad_rows = np.flatnonzero(np.array([not _is_name_or_id(value) for value in values])[row_value])
    if len(bad_rows):
        value = values[row_value[bad_rows[0]]]
        kind = "null" if is_null(value) else f"a {type_and_size(value)}"
        remedy = "a label is a name or an id (a whole number); correct it or drop the row"
        raise row_error(split, "label", bad_rows, f"the label is {kind}", remedy)
    places: dict[str, int] = {}
    key_of = [places.setdefault(_label_key(value), len(places)) for value in values]
    keys, row_key = list(places), np.array(key_of, dtype=np.int64)[row_value]
    others = set(keys).difference(known)
    # Before any of them is shown.
    if len(others) > max(_FEW_LABELS, len(row_key) / 2):
        raise InputError(
            f"{len(others):,} different labels in {len(row_key):,} rows: the column may hold texts "
            "or row ids",
            where=f"{split.origin}, column 'label'",
            allowed="at most half as many labels as rows",
            remedy=_COLUMN,
        )
    problems = [_problem(key) if key in others else None for key in keys]
    bad_rows = np.flatnonzero(np.array([problem is not None for problem in problems])[row_key])
    if len(bad_rows):
        problem = str(problems[row_key[bad_rows[0]]])
        raise row_error(split, "label", bad_rows, problem, f"correct the row, or {_COLUMN}")
    return _Keys(keys, row_key)


def _distinct(values: pd.Series) -> tuple[list[Any], Int64]:
    """The different values, in the order in which they occur, and each row's.

    Values of different types differ, though Python may take them to be equal, as 1 and True.
    """
    if values.dtype == "str":
        row_value, strings = pd.factorize(values)
        if not (row_value < 0).any():
            return list(strings), row_value.astype(np.int64)
    places: dict[tuple[type, Any], int] = {}
    found: list[Any] = []
    rows = np.empty(len(values), dtype=np.int64)
    for row, value in enumerate(values):
        key = type(value), value if isinstance(value, str | int) else repr(value)
        rows[row] = place = places.setdefault(key, len(places))
        if place == len(found):
            found.append(value)
    return found, rows


def _problem(key: str) -> str | None:
    """Why a string cannot be a label."""
    if is_blank(key):
        return "the label is blank"
    if len(key) > MAX_LABEL_CHARS:
        return f"the label has {len(key):,} characters, more than {MAX_LABEL_CHARS}"
    if is_unencodable(key):
        return f"the label {shown(key)} holds an unpaired surrogate"
    unseen = next(filter(is_misleading, key), None)
    if unseen is not None:
        kind = f"an invisible character (U+{ord(unseen):04X})"
        return f"the label {shown(key)} holds {kind}"
    return None


def _single_label(train: RawSplit, label: str) -> InputError:
    return InputError(
        f"every row has {label}",
        where=train.origin,
        allowed="two labels or more",
        remedy=_COLUMN,
    )


def _check_blanks(names: Sequence[str], where: str) -> None:
    for alike in _groups(names, lambda name: " ".join(name.split())):
        raise InputError(
            f"the labels {' and '.join(map(repr, alike))} differ by blanks alone",
            where=where,
            remedy="write them alike, or give each class a different name",
        )


def _groups(names: Iterable[str], key: Callable[[str], str]) -> list[list[str]]:
    """The names that have a key in common, if there are any."""
    groups = defaultdict(list)
    for name in names:
        groups[key(name)].append(name)
    return [group for group in groups.values() if len(group) > 1]


def _without_case(name: str) -> str:
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return "".join(c for c in folded if not has_no_width(c))


def _types(split: RawSplit) -> list[str]:
    """The types of its labels, each with its first row."""
    names = {str: "strings", bool: "Booleans"}
    values, row_value = _distinct(split.rows["label"])
    firsts = np.unique(row_value, return_index=True)[1]
    first: dict[str, int] = {}
    for value, row in zip(values, firsts, strict=True):
        first.setdefault(names.get(type(value), "numbers"), int(row))
    return [f"{kind} (first in {_row_named(split, row)})" for kind, row in first.items()]


def _row_named(split: RawSplit, row: int) -> str:
    file, number = split.located(row)
    return f"row {number:,}{f' of {file}' if split.shards else ''}"


def _is_name_or_id(value: Any) -> bool:
    return isinstance(value, (str, int, np.integer)) and not is_null(value)


def _label_key(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
