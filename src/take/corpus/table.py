"""Reading a corpus table: its task, its texts, its classes."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from take.corpus.spec import TEXT_COLUMNS, Task


def task_of(corpus: pd.DataFrame) -> Task:
    """Whether its rows are single texts or pairs.

    >>> task_of(pd.DataFrame({"text": ["a"]}))
    'single'
    """
    return "single" if "text" in corpus else "pair"


def text_columns(corpus: pd.DataFrame) -> list[list[str]]:
    """Its texts, a list per column."""
    return [corpus[column].tolist() for column in TEXT_COLUMNS[task_of(corpus)]]


def class_names(corpus: pd.DataFrame) -> list[str]:
    """Label names by id."""
    return list(corpus.groupby("label")["label_name"].first())


def class_sizes(corpus: pd.DataFrame) -> list[int]:
    """Rows of each class, by id."""
    return [int(size) for size in corpus.groupby("label").size()]


def class_ids(corpus: pd.DataFrame) -> NDArray[np.int64]:
    """Each row's label."""
    return corpus["label"].to_numpy(dtype=np.int64)
