"""Tables of selection: row numbers by ids and texts, and the check of distilled rows."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from operator import ne
from typing import Any

import numpy as np
import pandas as pd

from take.corpus.validation import is_unencodable
from take.errors import InputError
from take.rows.arrays import Int64
from take.rows.labelled import TEXT_COLUMNS, Task, task_of
from take.rows.strings import is_among
from take.text.related import RelatedRows

NUMBERS = {"label": "int64", "weight": "float64"}
_WHERE = "The distilled set"
_logger = logging.getLogger(__name__)


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
        _refuse(table, column, is_unencodable, "holds an unpaired surrogate")
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


def unseen_rows(
    corpus: pd.DataFrame, generator_rows: pd.DataFrame, related: RelatedRows, wanted: int
) -> Int64:
    """Rows that do not show what the language model was trained on, under any label.

    None contains a row it was trained on, lies in one, or nearly repeats one (`RelatedRows`). Its
    validation rows are excluded, too, unless fewer than `wanted` rows would be left.
    """
    for roles in (("trained", "validation"), ("trained",)):
        used = generator_rows.loc[generator_rows["role"].isin(roles), "id"]
        seen = related.to(np.flatnonzero(is_among(corpus["id"], used)))
        unseen = np.flatnonzero(~seen & ~related.common)
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


def places_of(previous: pd.DataFrame, pool: pd.DataFrame) -> Int64:
    """The pool rows that were distilled before."""
    columns = ["id", "label", *TEXT_COLUMNS[task_of(pool)]]
    places = pool[columns].assign(place=np.arange(len(pool)))
    found = previous[columns].merge(places, on=columns)["place"].to_numpy(dtype=np.int64)
    if len(found) < len(previous):
        _logger.warning(
            "%s of %s rows distilled before are no longer candidates.",
            len(previous) - len(found),
            len(previous),
        )
    return found


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
