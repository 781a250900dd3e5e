"""A table of labelled rows: its task, its texts, its classes."""

from __future__ import annotations

from collections.abc import Mapping
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
