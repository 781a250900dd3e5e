"""The table of distilled rows: its columns, and the check that every writer relies on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import ne
from typing import Any

import numpy as np
import pandas as pd

from take.corpus.validation import is_unencodable
from take.errors import InputError
from take.rows.labelled import TEXT_COLUMNS, Task, task_of

NUMBERS = {"label": "int64", "weight": "float64"}
_WHERE = "The distilled set"


def distilled_columns(task: Task) -> tuple[str, ...]:
    """The columns of a distilled set.

    >>> distilled_columns("pair")
    ('id', 'text_a', 'text_b', 'label', 'label_name', 'weight')
    """
    return "id", *TEXT_COLUMNS[task], "label", "label_name", "weight"


def string_columns(table: pd.DataFrame) -> list[str]:
    """All columns but the numbers."""
    return [column for column in table.columns if column not in NUMBERS]


def check_distilled(table: pd.DataFrame, class_names: Sequence[str]) -> None:
    """Refuse a table that is no distilled set of these classes.

    Half a surrogate pair is refused, not escaped: UTF-8 cannot encode it, so Parquet, JSONL and CSV
    would each need a convention that no reader knows.

    >>> table = pd.DataFrame(
    ...     {"id": ["a1"], "text": ["dull"], "label": [2], "label_name": ["bad"], "weight": [1.0]}
    ... )
    >>> check_distilled(table, ["bad", "good"])
    Traceback (most recent call last):
    take.errors.InputError: The distilled set, row 1, column 'label': 2 is the label of no class...
    """
    _check_shape(table)
    if len(set(class_names)) != len(class_names):
        raise InputError(
            f"two classes have one name in {list(class_names)}", remedy="name them differently"
        )
    for column in string_columns(table):
        _refuse(table, column, lambda value: not isinstance(value, str), "is not a string")
        _refuse(table, column, is_unencodable, "holds half a surrogate pair")
        _refuse(table, column, lambda value: not value.strip(), "is blank")
    labels = range(len(class_names))
    problem = f"is the label of no class; there are {len(labels)} classes, from 0"
    _refuse(table, "label", lambda label: label not in labels, problem)
    for label in labels:
        problem = f"contradicts label {label}, whose name is {class_names[label]!r}"
        mine = table[table["label"] == label]
        _refuse(mine, "label_name", partial(ne, class_names[label]), problem)
    _refuse(table[table["id"].duplicated()], "id", lambda _: True, "occurs in an earlier row, too")
    _refuse(table, "weight", lambda weight: not np.isfinite(weight), "is no finite number")
    _refuse(table, "weight", lambda weight: weight < 0, "is negative")


def _check_shape(table: pd.DataFrame) -> None:
    found, wanted = list(table.columns), distilled_columns(task_of(table))
    allowed = f"{', '.join(distilled_columns('single'))}; for pairs, text_a and text_b for text"
    for column in wanted:
        if column not in found:
            problem = f"there is no column {column!r}"
            raise InputError(problem, where=_WHERE, allowed=allowed, remedy="add it")
    # Otherwise the formats would not hold the same: each writes what it can.
    for column in found:
        if column not in wanted or found.count(column) > 1:
            problem = f"column {column!r} is {'repeated' if column in wanted else 'unknown'}"
            raise InputError(problem, where=_WHERE, allowed=allowed, remedy="drop it")
    for column, dtype in NUMBERS.items():
        if table[column].dtype != dtype:
            raise InputError(
                f"the values are {table[column].dtype}",
                where=f"{_WHERE}, column {column!r}",
                allowed=dtype,
                remedy="convert them",
            )
    if table.empty:
        raise InputError("there are no rows", where=_WHERE, remedy="raise the budget")
    # Pandas writes any other index to Parquet as one more column.
    if not (
        isinstance(table.index, pd.RangeIndex) and table.index.equals(pd.RangeIndex(len(table)))
    ):
        problem = "the index does not count rows from 0"
        raise InputError(problem, where=_WHERE, remedy="reset it: table.reset_index(drop=True)")


def _refuse(table: pd.DataFrame, column: str, is_bad: Callable[[Any], bool], problem: str) -> None:
    for row, value in zip(table.index, table[column].tolist(), strict=True):
        if not is_bad(value):
            continue
        shown = f"{value!r:.60}"
        if column in TEXT_COLUMNS["single"] + TEXT_COLUMNS["pair"]:
            # A corpus may be confidential, and a text may be close to one of it: none is quoted.
            size = f" of {len(value):,} characters" if isinstance(value, str) else ""
            shown = f"the {type(value).__name__}{size}"
        raise InputError(
            f"{shown} {problem}",
            where=f"{_WHERE}, row {row + 1}, column '{column}'",
            remedy="repair the row or leave it out",
        )
