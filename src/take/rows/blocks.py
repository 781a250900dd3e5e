"""Rows in blocks: the one way anything that grows with N is read and computed.

A computation over N rows is a function of one block of rows, mapped over all blocks. Memory then
depends on the block, not on N, and the same function can be handed to another engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from math import ceil
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from take.errors import InputError
from take.reuse.tensors import Place, map_place, place_of
from take.rows.arrays import Float32, Int64

Result = TypeVar("Result")

DEFAULT_BLOCK_ROWS = 8192
PART_ROWS = 8192
MOST_PARTS = 512


class RowBlocks(Protocol):
    """N rows of d float32 features that are read a block at a time."""

    @property
    def shape(self) -> tuple[int, int]:
        """(N, d)."""
        ...

    def read(self, start: int, stop: int) -> Float32:
        """Rows start … stop-1 as an array of shape (stop - start, d)."""
        ...


class ArrayBlocks:
    """An array, or a memory-mapped one, as `RowBlocks`.

    >>> blocks = ArrayBlocks(np.eye(3, dtype=np.float32))
    >>> blocks.shape, blocks.read(1, 3).tolist()
    ((3, 3), [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    """

    def __init__(self, rows: Float32) -> None:
        self._rows = rows

    def __reduce__(self) -> tuple[Any, ...]:
        """A mapped file as its place: another process maps it, and its contents do not travel."""
        place = place_of(self._rows)
        return (_at_place, (type(self), place)) if place else (type(self), (self._rows,))

    @property
    def shape(self) -> tuple[int, int]:
        """(N, d)."""
        n_rows, n_features = self._rows.shape
        return n_rows, n_features

    @property
    def is_mapped(self) -> bool:
        """Whether the rows are those of a mapped file."""
        return place_of(self._rows) is not None

    def read(self, start: int, stop: int) -> Float32:
        """Rows start … stop-1."""
        return np.asarray(self._rows[start:stop], dtype=np.float32)

    def window(self, start: int, stop: int) -> RowBlocks:
        """Rows start … stop-1, not read yet. Pickled, it has the file's place, or these rows."""
        return Window(self, start, stop) if self.is_mapped else ArrayBlocks(self._rows[start:stop])


def _at_place(kind: type[ArrayBlocks], place: Place) -> ArrayBlocks:
    return kind(map_place(place))


def block_bounds(n_rows: int, block_rows: int = DEFAULT_BLOCK_ROWS) -> Iterator[tuple[int, int]]:
    """Start and stop of each block of rows, in order.

    >>> list(block_bounds(5, 2))
    [(0, 2), (2, 4), (4, 5)]
    """
    if block_rows < 1:
        raise ValueError(f"block_rows is {block_rows}; a block has at least one row")
    for start in range(0, n_rows, block_rows):
        yield start, min(start + block_rows, n_rows)


def part_bounds(n_rows: int, block_rows: int = DEFAULT_BLOCK_ROWS) -> list[tuple[int, int]]:
    """Start and stop of the parts of rows that stay with workers: whole blocks, 512 parts at most.

    They depend on N and the block alone, so that sums over parts are the same on any engine.

    >>> part_bounds(20_000, 1024)
    [(0, 8192), (8192, 16384), (16384, 20000)]
    """
    blocks = max(PART_ROWS, n_rows / MOST_PARTS) / block_rows
    return list(block_bounds(n_rows, ceil(blocks) * block_rows))


def map_blocks(
    compute: Callable[[int, Float32], Result],
    rows: RowBlocks,
    block_rows: int = DEFAULT_BLOCK_ROWS,
) -> Iterator[Result]:
    """`compute(start, block)` of each block of rows, in order, one block in memory at a time.

    >>> rows = ArrayBlocks(np.ones((5, 2), dtype=np.float32))
    >>> [float(s) for s in map_blocks(lambda start, block: block.sum(), rows, block_rows=2)]
    [4.0, 4.0, 2.0]
    """
    for start, stop in block_bounds(rows.shape[0], block_rows):
        yield compute(start, rows.read(start, stop))


def squared_norms(rows: Float32) -> Float32:
    """‖x‖² of each row.

    >>> squared_norms(np.array([[3.0, 4.0]], dtype=np.float32)).tolist()
    [25.0]
    """
    norms: Float32 = np.einsum("nd,nd->n", rows, rows)
    return norms


class Window:
    """Neighbouring rows of a `RowBlocks`, not read yet."""

    def __init__(self, rows: RowBlocks, start: int, stop: int) -> None:
        self._rows, self._start, self._stop = rows, start, stop

    @property
    def shape(self) -> tuple[int, int]:
        """(number of the rows, d)."""
        return self._stop - self._start, self._rows.shape[1]

    def read(self, start: int, stop: int) -> Float32:
        """Rows start … stop-1 of the window."""
        return self._rows.read(self._start + start, min(self._start + stop, self._stop))


@runtime_checkable
class HasWindows(Protocol):
    """Rows that know a smaller pickle of some neighbours than `Window`."""

    def window(self, start: int, stop: int) -> RowBlocks:
        """Rows start … stop-1."""
        ...


def window(rows: RowBlocks, start: int, stop: int) -> RowBlocks:
    """Rows start … stop-1, to be read where they are needed, for instance by another process.

    >>> rows = ArrayBlocks(np.arange(5, dtype=np.float32)[:, None])
    >>> window(rows, 2, 5).read(1, 3).tolist()
    [[3.0], [4.0]]
    """
    return rows.window(start, stop) if isinstance(rows, HasWindows) else Window(rows, start, stop)


@runtime_checkable
class HasSubsets(Protocol):
    """Rows that know a faster way to some of them than `SubsetBlocks`."""

    def subset(self, index: Int64) -> RowBlocks:
        """Those rows, in this order."""
        ...


def rows_at(rows: RowBlocks, index: Int64) -> RowBlocks:
    """Some rows, by number and in any order, as a `RowBlocks`.

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
            remedy="take the row numbers from this corpus",
        )
    return rows.subset(index) if isinstance(rows, HasSubsets) else SubsetBlocks(rows, index)


class SubsetBlocks:
    """Some rows of a `RowBlocks`: neighbours are read together, gaps are skipped.

    >>> rows = ArrayBlocks(np.arange(5, dtype=np.float32)[:, None])
    >>> SubsetBlocks(rows, np.array([0, 3, 4])).read(1, 3).tolist()
    [[3.0], [4.0]]
    """

    _BRIDGED_ROWS = 8  # reading a gap of a few unwanted rows costs less than another call

    def __init__(self, rows: RowBlocks, index: Int64) -> None:
        self._rows = rows
        self._index = index

    def __reduce__(self) -> tuple[Any, ...]:
        """Of an array in memory only the chosen rows travel."""
        if isinstance(self._rows, ArrayBlocks) and not self._rows.is_mapped:
            return ArrayBlocks, (self.read(0, len(self._index)),)
        return SubsetBlocks, (self._rows, self._index)

    @property
    def shape(self) -> tuple[int, int]:
        """(number of chosen rows, d)."""
        return len(self._index), self._rows.shape[1]

    def window(self, start: int, stop: int) -> SubsetBlocks:
        """Chosen rows start … stop-1, not read yet."""
        return SubsetBlocks(self._rows, self._index[start:stop])

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
