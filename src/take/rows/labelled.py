"""A table of labelled rows: its task, its texts, its classes, and row ids by content."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import numpy as np
import pandas as pd

from take.rows.arrays import Int64

Task = Literal["single", "pair"]
TEXT_COLUMNS: Mapping[Task, tuple[str, ...]] = {"single": ("text",), "pair": ("text_a", "text_b")}


def task_of(rows: pd.DataFrame) -> Task:
    """Whether its rows are single texts or pairs.

    >>> task_of(pd.DataFrame({"text": ["a"]}))
    'single'
    """
    return "single" if "text" in rows else "pair"


def text_columns(rows: pd.DataFrame) -> list[list[str]]:
    """Its texts, a list per column."""
    return [rows[column].tolist() for column in TEXT_COLUMNS[task_of(rows)]]


def class_names(rows: pd.DataFrame) -> list[str]:
    """Label names by id."""
    return list(rows.groupby("label")["label_name"].first())


def class_sizes(rows: pd.DataFrame) -> list[int]:
    """Rows of each class, by id."""
    return [int(size) for size in rows.groupby("label").size()]


def class_ids(rows: pd.DataFrame) -> Int64:
    """Each row's label."""
    return rows["label"].to_numpy(dtype=np.int64)


def content_id(parts: Iterable[str]) -> str:
    """A row's id, by content: the same texts and label have the same id in every run.

    >>> content_id(["a fine film", "positive"]) == content_id(["a fine film", "positive"])
    True
    >>> content_id(["ab", "c"]) == content_id(["a", "bc"])
    False
    """
    digest = hashlib.blake2b(digest_size=10)
    for part in parts:
        encoded = part.strip().encode()
        digest.update(len(encoded).to_bytes(8, "little"))
        digest.update(encoded)
    return digest.hexdigest()


def text_keys(rows: pd.DataFrame, columns: Sequence[str]) -> pd.Series:
    """Each row's key by its texts alone."""
    texts = zip(*(rows[column].tolist() for column in columns), strict=True)
    return pd.Series([content_id(parts) for parts in texts], index=rows.index, dtype="str")
