"""Labelled rows: a table's task, texts, classes and row ids, and rows with their vectors."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from take.rows.arrays import Float64, Int64
from take.rows.blocks import RowBlocks, rows_at
from take.rows.strings import batches_of, string_column

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


def text_lengths(columns: Sequence[Sequence[str]]) -> Int64:
    """The characters of each row, of all its texts.

    >>> text_lengths([["dull", "a film"], ["", "it"]]).tolist()
    [4, 8]
    """
    return np.array([sum(map(len, row)) for row in zip(*columns, strict=True)], dtype=np.int64)


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


def text_codes(rows: pd.DataFrame, columns: Sequence[str]) -> NDArray[np.uint64]:
    """64 bits of each row's key by its texts alone: different texts hardly ever have the same.

    >>> codes = text_codes(pd.DataFrame({"text": ["a fine film", "dull", "dull "]}), ["text"])
    >>> bool(codes[0] == codes[1]), bool(codes[1] == codes[2])
    (False, True)
    """
    found = (
        int(content_id(parts)[:16], 16) for batch in batches_of(rows, columns) for parts in batch
    )
    return np.fromiter(found, dtype=np.uint64, count=len(rows))


def content_ids(rows: pd.DataFrame, columns: Sequence[str]) -> pd.Series:
    """Each row's `content_id` of these columns, which are strings.

    >>> rows = pd.DataFrame({"text": ["fine", "fine "], "label_name": ["good", "good"]})
    >>> int(content_ids(rows, ["text", "label_name"]).nunique())
    1
    """
    import pyarrow as pa

    ids = (
        pa.array(map(content_id, batch), pa.large_string()) for batch in batches_of(rows, columns)
    )
    return string_column(ids).set_axis(rows.index)


def text_keys(rows: pd.DataFrame, columns: Sequence[str]) -> pd.Series:
    """Each row's key by its texts alone."""
    return content_ids(rows, columns)


@dataclass(frozen=True)
class LabelledRows:
    """Rows of a corpus or a pool with their vectors.

    >>> from take.rows.blocks import ArrayBlocks
    >>> table = pd.DataFrame({"text": ["dull", "fine"], "label": [0, 1]})
    >>> rows = LabelledRows.of(table, ArrayBlocks(np.eye(2, dtype=np.float32)))
    >>> rows.take(np.array([1])).texts
    [['fine']]
    """

    phi: RowBlocks  # unit-norm φ
    texts: list[list[str]]  # one column, or two for pairs
    labels: Int64
    weights: Float64 | None = None  # where rows count differently
    groups: list[str] | None = None  # topics, sources, languages: a column of the user's

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def shares(self) -> Float64:
        """The weights, or equal ones, with sum 1.

        >>> from take.rows.blocks import ArrayBlocks
        >>> rows = ArrayBlocks(np.eye(2, dtype=np.float32))
        >>> LabelledRows(rows, [["dull", "fine"]], np.arange(2)).shares.tolist()
        [0.5, 0.5]
        """
        weights = np.ones(len(self)) if self.weights is None else self.weights
        shares: Float64 = weights / weights.sum()
        return shares

    @classmethod
    def of(cls, table: pd.DataFrame, phi: RowBlocks) -> LabelledRows:
        """The rows of a table, whose vectors are `phi`."""
        groups = table["group"].tolist() if "group" in table else None
        return cls(phi, text_columns(table), class_ids(table), groups=groups)

    def take(self, index: Int64) -> LabelledRows:
        """Some of the rows, in this order."""
        return LabelledRows(
            rows_at(self.phi, index),
            [[column[row] for row in index] for column in self.texts],
            self.labels[index],
            None if self.weights is None else self.weights[index],
            None if self.groups is None else [self.groups[row] for row in index],
        )
