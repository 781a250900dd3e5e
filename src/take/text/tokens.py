"""Texts as arrays of word ids: read once, counted many times."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from take.rows.arrays import Int64
from take.text.normalise import words


@dataclass(frozen=True, eq=False)
class Tokens:
    """The words of some rows, one after the other, row by row and column by column."""

    ids: NDArray[np.int32]
    starts: Int64  # (rows · columns + 1,) where each text begins; the last is the end of all
    n_columns: int

    @property
    def n_rows(self) -> int:
        """Rows, empty ones included."""
        return (len(self.starts) - 1) // self.n_columns

    @cached_property
    def lengths(self) -> Int64:
        """Columns × rows: words of each text."""
        return np.diff(self.starts).reshape(self.n_rows, self.n_columns).T

    @cached_property
    def row_sizes(self) -> Int64:
        """Words of each row, all its texts together."""
        return np.diff(self.starts[:: self.n_columns])

    @cached_property
    def begins(self) -> NDArray[np.bool_]:
        """Whether a word is the first of its text, so that no pair of words ends with it."""
        found = np.zeros(len(self.ids) + 1, dtype=np.bool_)
        found[self.starts] = True
        return found[:-1]

    def row_of(self, places: Int64) -> Int64:
        """The rows that contain words."""
        found: Int64 = np.searchsorted(self.starts, places, side="right") - 1
        return found // self.n_columns

    def places(self, rows: Int64) -> Int64:
        """Where the words of these rows are, in the order of the rows.

        >>> tokens = Vocabulary().read([["a b", "c", "d e f"]])
        >>> tokens.places(np.array([2, 0])).tolist()
        [3, 4, 5, 0, 1]
        """
        sizes = self.row_sizes[rows]
        first = self.starts[:: self.n_columns][rows]
        before = np.cumsum(sizes) - sizes
        found: Int64 = np.arange(sizes.sum()) + np.repeat(first - before, sizes)
        return found


class Vocabulary(dict[str, int]):
    """Ids of words, in the order of their first occurrence."""

    def __missing__(self, word: str) -> int:
        found = self[word] = len(self)
        return found

    def read(self, columns: Sequence[Sequence[str]]) -> Tokens:
        """The words of some rows, a list of texts per column; new words get the next ids.

        >>> tokens = Vocabulary().read([["A film!", "film"], ["a plot", ""]])
        >>> tokens.ids.tolist(), tokens.lengths.tolist(), tokens.row_sizes.tolist()
        ([0, 1, 0, 2, 1], [[2, 1], [2, 0]], [4, 1])
        """
        ids, sizes, known = array("i"), array("q"), self.__getitem__
        for row in zip(*columns, strict=True):
            for text in row:
                found = words(text)
                sizes.append(len(found))
                ids.extend(map(known, found))
        starts = np.concatenate([[0], np.cumsum(np.frombuffer(sizes, dtype=np.int64))])
        return Tokens(np.frombuffer(ids, dtype=np.int32), starts.astype(np.int64), len(columns))
