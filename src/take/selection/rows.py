"""Some rows of many, and rows with columns added: what selection does to features."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from take.encoder.embeddings import Embeddings
from take.errors import InputError
from take.rows.arrays import Float32, Int64
from take.rows.blocks import RowBlocks


def rows_at(rows: RowBlocks, index: Int64) -> RowBlocks:
    """Some rows, by number and in any order, as a `RowBlocks` of their own.

    >>> from take.rows.blocks import ArrayBlocks
    >>> rows = ArrayBlocks(np.arange(5, dtype=np.float32)[:, None])
    >>> rows_at(rows, np.array([4, 0, 3])).read(1, 3).tolist()
    [[0.0], [3.0]]
    """
    n_rows, index = rows.shape[0], np.asarray(index, dtype=np.int64)
    if len(index) and not 0 <= index.min() <= index.max() < n_rows:
        raise InputError(
            f"row numbers run from {index.min()} to {index.max()}",
            where="subset of rows",
            allowed=f"0 … {n_rows - 1}",
            remedy="build the row numbers from this very corpus",
        )
    # Embeddings point at their strings, so a subset of them is another set of pointers.
    if isinstance(rows, Embeddings):
        return Embeddings(rows.strings, rows.rows[index])
    return SubsetBlocks(rows, index)


class SubsetBlocks:
    """Some rows of a `RowBlocks`, read through it: neighbours in one go, gaps left out.

    >>> from take.rows.blocks import ArrayBlocks
    >>> rows = ArrayBlocks(np.arange(5, dtype=np.float32)[:, None])
    >>> SubsetBlocks(rows, np.array([0, 3, 4])).read(1, 3).tolist()
    [[3.0], [4.0]]
    """

    # To read a gap of a few unwanted rows costs less than another call.
    _BRIDGED_ROWS = 8

    def __init__(self, rows: RowBlocks, index: Int64) -> None:
        self._rows = rows
        self._index = index

    @property
    def shape(self) -> tuple[int, int]:
        """(number of chosen rows, d)."""
        return len(self._index), self._rows.shape[1]

    def read(self, start: int, stop: int) -> Float32:
        """Chosen rows start … stop-1."""
        wanted = self._index[start:stop]
        block = np.empty((len(wanted), self._rows.shape[1]), dtype=np.float32)
        order = np.argsort(wanted, kind="stable")
        ascending = wanted[order]
        gaps = np.flatnonzero(np.diff(ascending) > self._BRIDGED_ROWS) + 1
        bounds = [0, *gaps.tolist(), len(wanted)]
        for begin, end in pairwise(bounds if len(wanted) else []):
            first, last = int(ascending[begin]), int(ascending[end - 1])
            near = self._rows.read(first, last + 1)
            block[order[begin:end]] = near[ascending[begin:end] - first]
        return block


class JoinedBlocks:
    """Rows of a `RowBlocks` with further columns to their right.

    >>> from take.rows.blocks import ArrayBlocks
    >>> rows = ArrayBlocks(np.eye(2, dtype=np.float32))
    >>> JoinedBlocks(rows, np.full((2, 1), 5, dtype=np.float32)).read(1, 2).tolist()
    [[0.0, 1.0, 5.0]]
    """

    def __init__(self, rows: RowBlocks, columns: Float32) -> None:
        self._rows, self._columns = rows, columns

    @property
    def shape(self) -> tuple[int, int]:
        """(N, d + further columns)."""
        n_rows, n_features = self._rows.shape
        return n_rows, n_features + self._columns.shape[1]

    def read(self, start: int, stop: int) -> Float32:
        """Rows start … stop-1."""
        return np.concatenate([self._rows.read(start, stop), self._columns[start:stop]], axis=1)
