"""A set and its corpus as arrays, and the corpus at the set's mix of classes.

A distilled set is balanced on purpose. What differs from class to class (lengths, words, mentions)
would differ from the corpus for that reason alone, so each corpus row of class c is weighted by

    s_c / N_c,        s_c the class's share of the set, N_c its rows in the corpus.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from take.audit.balance.terms import Groups, mentions
from take.errors import InputError
from take.rows.arrays import Float64, Int64
from take.rows.labelled import class_ids, class_names, task_of, text_columns
from take.text.tokens import Tokens, Vocabulary


@dataclass(frozen=True, eq=False)
class Rows:
    """Labelled rows: their words and mentions."""

    labels: Int64
    tokens: Tokens
    mentions: NDArray[np.bool_]  # rows × sides
    n_classes: int

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def class_sizes(self) -> Int64:
        """Rows of each class."""
        return np.bincount(self.labels, minlength=self.n_classes)

    @cached_property
    def by_class(self) -> list[Int64]:
        """Which rows are of each class."""
        return [np.flatnonzero(self.labels == label) for label in range(self.n_classes)]

    @cached_property
    def mentions_by_class(self) -> Int64:
        """Classes × sides: rows that mention it."""
        return self.counted(self.mentions)

    def counted(self, flags: NDArray[np.bool_]) -> Int64:
        """Classes × columns: rows that a flag is set for."""
        return np.stack([flags[rows].sum(axis=0) for rows in self.by_class]).astype(np.int64)


class Reference:
    """The corpus, read once; other rows are read with its vocabulary."""

    def __init__(self, corpus: pd.DataFrame, groups: Groups) -> None:
        self._task, self._groups = task_of(corpus), groups
        self.names: Sequence[str] = class_names(corpus)
        self.vocabulary = Vocabulary()
        self.rows = self.read(corpus, "corpus")
        self.n_words = len(self.vocabulary)  # larger ids are words that the corpus does not have
        weights = np.repeat(self.rows.labels, self.rows.tokens.row_sizes) * self.n_words
        size = self.rows.n_classes * self.n_words
        flat = np.bincount(weights + self.rows.tokens.ids, minlength=size)
        self._class_counts = flat.reshape(self.rows.n_classes, self.n_words)

    def read(self, table: pd.DataFrame, where: str) -> Rows:
        """The rows of a table; an error if task or labels differ from the corpus's."""
        if not len(table) or task_of(table) != self._task:
            raise InputError(
                f"{len(table)} rows of task '{task_of(table)}'",
                where=where,
                allowed=f"one row or more of task '{self._task}', as the corpus has it",
            )
        labels, n_classes = class_ids(table), len(self.names)
        if labels.min() < 0 or labels.max() >= n_classes:
            raise InputError(
                f"labels {labels.min()} … {labels.max()}",
                where=where,
                allowed=f"0 … {n_classes - 1}: " + ", ".join(map(repr, self.names)),
            )
        tokens = self.vocabulary.read(text_columns(table))
        return Rows(labels, tokens, mentions(tokens, self.vocabulary, self._groups), n_classes)

    @property
    def class_counts(self) -> Float64:
        """Classes × words: how often a word occurs in the corpus; includes words read later."""
        unknown = len(self.vocabulary) - self.n_words
        return np.pad(self._class_counts, ((0, 0), (0, unknown))).astype(np.float64)

    def row_weight(self, rows: Rows) -> Float64:
        """s_c / N_c of each class: the weight of a corpus row, compared with these rows."""
        found: Float64 = rows.class_sizes / len(rows) / self.rows.class_sizes
        return found


def effective(weights: Float64, counts: Int64) -> Float64:
    """(Σ w)² / Σ w², Kish's effective number of rows; per column, 0 if there are none.

    >>> effective(np.array([1.0, 3.0]), np.array([[4], [4]])).tolist()
    [6.4]
    """
    square = np.asarray(np.square(weights) @ counts)
    none = np.zeros_like(square)
    found: Float64 = np.divide(np.square(weights @ counts), square, out=none, where=square > 0)
    return found
