"""Refusing rows that cannot be used, with the file, the row, the column and what is wrong."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from take.corpus.sources import RawSplit
from take.errors import InputError
from take.rows.arrays import Int64
from take.rows.blocks import block_bounds
from take.rows.labelled import TEXT_COLUMNS, task_of
from take.rows.strings import BATCH_ROWS, batches_of
from take.text.characters import is_blank
from take.text.format import share

# The special tokens of most language models: <|im_end|>, <end_of_turn>, </s>, <eos>, [INST].
_SPECIAL_TOKEN = re.compile(
    r"<\|[^<>|\s]{1,40}\|>|<[a-z]+(_[a-z]+)+>|</?s>|<(bos|eos|pad|unk|mask)>"
    r"|\[/?(INST|CLS|SEP|PAD|MASK|UNK)\]",
    re.IGNORECASE,
)
_NOTABLE_SHARE = 0.01
_MOST_GROUPS = 1000


def check_rows(split: RawSplit) -> None:
    """Refuse a split without rows."""
    if split.rows.empty:
        raise InputError("there are no rows", where=split.origin, remedy="check the file or filter")


def check_texts(split: RawSplit, columns: Sequence[str], max_chars: int) -> None:
    """Refuse a split that is empty or has a text that cannot be used."""
    check_rows(split)
    checks: tuple[tuple[Callable[[Any], bool], str, str], ...] = (
        (is_null, "the text is null", "fill it or drop the row"),
        (lambda text: not isinstance(text, str), "the text is not a string", "quote or convert it"),
        (is_blank, "the text is blank", "fill it or drop the row"),
        (
            lambda text: len(text) > max_chars,
            f"the text is longer than {max_chars:,} characters",
            "cut it, or raise ingestion.max_text_chars",
        ),
        (lambda text: "\0" in text, "the text holds a NUL character", "remove it"),
        (is_unencodable, "the text holds an unpaired surrogate", "repair its \\u escapes"),
    )
    for column in columns:
        worst, bad_rows, shown = len(checks), list[int](), ""
        for start, stop in block_bounds(len(split.rows), BATCH_ROWS):
            values = split.rows[column].iloc[start:stop].tolist()
            # The first check that fails anywhere decides the message, and a later check may rely
            # on the earlier ones having passed for every row.
            for place, (is_bad, _, _) in enumerate(checks[: worst + 1]):
                found = [row for row, value in enumerate(values, start) if is_bad(value)]
                if found:
                    if place < worst:
                        worst, bad_rows = place, []
                        shown = type_and_size(values[found[0] - start])
                    bad_rows += found
                    break
        if bad_rows:
            # A corpus may be confidential: a text is never quoted.
            _, problem, remedy = checks[worst]
            raise row_error(split, column, bad_rows, f"{problem}, value {shown}", remedy)


def group_names(split: RawSplit) -> list[str]:
    """Each row's group: a string, or a whole number or Boolean as one.

    >>> group_names(RawSplit(pd.DataFrame({"group": ["fr", "en ", 7]}, dtype=object), "a.csv"))
    ['fr', 'en', '7']
    """
    values = split.rows["group"]
    bad_rows = [row for row, value in enumerate(values) if not isinstance(value, str | int)]
    if bad_rows:
        problem = f"the group is null or no name, value {type_and_size(values[bad_rows[0]])}"
        raise row_error(split, "group", bad_rows, problem, "write a string or a whole number")
    names = [sys.intern(str(value).strip()) for value in values]
    if len(set(names)) > _MOST_GROUPS:
        raise InputError(
            f"there are {len(set(names)):,} different groups",
            where=f"{split.origin}, column 'group'",
            allowed=f"at most {_MOST_GROUPS:,}",
            remedy="name a column of topics or sources under columns.group in corpora.yml, not one "
            "of ids or texts",
        )
    return names


def text_warnings(rows: pd.DataFrame) -> list[str]:
    """What may be a mistake in texts that are accepted."""
    batches = batches_of(rows, TEXT_COLUMNS[task_of(rows)])
    held = sum(any(map(_SPECIAL_TOKEN.search, row)) for batch in batches for row in batch)
    if held < _NOTABLE_SHARE * len(rows):
        return []
    return [
        f"{held:,} of {len(rows):,} train rows ({share(held / len(rows))}) hold what looks like a "
        "special token of a language model, such as <|…|>, </s> or [INST]. Generated rows that "
        "hold a special token are dropped. Remove such tokens unless they belong to the texts."
    ]


def row_error(
    split: RawSplit, column: str, bad_rows: Sequence[int] | Int64, problem: str, remedy: str
) -> InputError:
    """The error that names the first of the bad rows and counts the others."""
    others = f" (and {len(bad_rows) - 1:,} more rows)" if len(bad_rows) > 1 else ""
    file, row = split.located(int(bad_rows[0]))
    return InputError(
        f"{problem}{others}",
        where=f"{file}, row {row}, column '{column}'",
        remedy=remedy,
    )


def type_and_size(value: Any) -> str:
    """What a message may say of a value that must not be quoted.

    >>> type_and_size("confidential"), type_and_size({"a": 1}), type_and_size(None)
    ('str of 12 characters', 'dict', 'None')
    """
    if value is None:
        return "None"
    size = f" of {len(value):,} characters" if isinstance(value, str) else ""
    return f"{type(value).__name__}{size}"


def is_null(value: Any) -> bool:
    """Whether it is one of the values that stand for a missing one."""
    return value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value))


def is_unencodable(text: str) -> bool:
    """Whether the text holds an unpaired surrogate, which UTF-8 cannot encode."""
    return not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text)
