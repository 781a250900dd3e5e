"""Squared-Euclidean costs: of a block of rows, and parts of the whole matrix as a search needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from take.errors import TakeError
from take.rows.arrays import Float32, Int64
from take.rows.blocks import ArrayBlocks, RowBlocks, block_bounds, squared_norms
from take.transport.coupling import GroupCosts

MAX_BUFFER_BYTES = 16 * 2**20
COLUMN_BLOCK_ROWS = 4096


class TransportError(TakeError):
    """A transport problem that has no answer of the required accuracy."""


def squared_distances(block: Float32, targets: Float32) -> Float32:
    """C_nc = ‖x_n − y_c‖² = ‖x_n‖² + ‖y_c‖² − 2⟨x_n, y_c⟩, which is 2 − 2⟨x, y⟩ for unit vectors.

    One matrix product. In fp32 the three terms cancel, so the distance of equal unit vectors can be
    up to 3e-7; negative values are set to 0.

    >>> points = np.array([[1, 0], [0, 1], [3, 0]], dtype=np.float32)
    >>> squared_distances(points, points[:1]).tolist()
    [[0.0], [2.0], [4.0]]
    """
    costs: Float32 = block @ targets.T
    costs *= -2
    costs += squared_norms(block)[:, None]
    costs += squared_norms(targets)[None, :]
    return np.maximum(costs, 0, out=costs)


class Candidates:
    """The features of a pool as costs need them.

    >>> Candidates(np.eye(2, dtype=np.float32)).norms.tolist()
    [1.0, 1.0]
    """

    def __init__(self, features: Float32) -> None:
        self.doubled = features * np.float32(-2)
        self.norms = squared_norms(features)
        self._last: tuple[Int64, Float32, Float32] | None = None

    def __len__(self) -> int:
        """How many there are."""
        return len(self.norms)

    def __getstate__(self) -> dict[str, object]:
        """Without what was read last."""
        return self.__dict__ | {"_last": None}

    def at(self, some: Int64 | None) -> tuple[Float32, Float32]:
        """−2 y_c and ‖y_c‖² of some, or of all. Parts of rows ask for the same ones in turn."""
        if some is None or len(some) == len(self):
            return self.doubled, self.norms
        last = self._last
        if last is None or (last[0] is not some and not np.array_equal(last[0], some)):
            self._last = last = some, self.doubled[some], self.norms[some]
        return last[1], last[2]


class Column(NamedTuple):
    """A candidate's column, and with which others it is computed.

    The product of several columns may have other last digits than that of one. With the batch, a
    column that is computed again is the same.
    """

    candidate: int
    batch: int  # its number
    members: tuple[int, ...]  # candidates of the batch, ascending


class CostColumns:
    """C_nc = ‖x_n − y_c‖², by blocks of rows against the whole pool, or by single columns.

    `added` are further costs, such as those of a prior coupling.

    A search uses the same few columns again and again, so computed columns are kept, and the least
    recently used is dropped. The corpus is kept in memory if it fits `corpus_bytes`; otherwise it
    is read by blocks for every request.

    >>> points = np.array([[1, 0], [0, 1]], dtype=np.float32)
    >>> costs = CostColumns(ArrayBlocks(points), Candidates(points), slots=2)
    >>> costs.column(Column(1, 0, (0, 1))).tolist()
    [2.0, 0.0]
    >>> [block.tolist() for _, block in costs.row_blocks(np.array([1]))]
    [[[2.0, 0.0]]]
    """

    def __init__(
        self,
        corpus: RowBlocks,
        candidates: Candidates,
        *,
        slots: int,
        corpus_bytes: int = 0,
        block_rows: int = 2048,
        added: GroupCosts | None = None,
    ) -> None:
        n_rows, n_features = corpus.shape
        self.added, self.n_rows, self.block_rows = added, n_rows, block_rows
        self._candidates = candidates
        self._in_memory: Float32 | None = None
        if 4 * n_rows * n_features <= corpus_bytes:
            self._in_memory = np.empty((n_rows, n_features), dtype=np.float32)
            for start, stop in block_bounds(n_rows):  # not all pages of a mapped file at once
                self._in_memory[start:stop] = corpus.read(start, stop)
            corpus = ArrayBlocks(self._in_memory)
        self.corpus = corpus
        self.norms = np.empty(n_rows, dtype=np.float32)
        for start, stop in block_bounds(n_rows, COLUMN_BLOCK_ROWS):
            self.norms[start:stop] = squared_norms(corpus.read(start, stop))
        self._kept = np.empty((slots, n_rows), dtype=np.float32)  # untouched pages cost nothing
        self._slot_of = np.full(len(candidates), -1, dtype=np.int64)
        self._holder = np.full(slots, -1, dtype=np.int64)
        self._batch = np.full(slots, -1, dtype=np.int64)
        self._used = np.zeros(slots, dtype=np.int64)
        self._clock = 0

    def row_blocks(
        self, rows: Int64, candidates: Int64 | None = None
    ) -> Iterator[tuple[slice, Float32]]:
        """C of these rows (ascending) and all candidates, or some (ascending), by parts of rows.

        A part is overwritten by the next.
        """
        doubled, norms = self._candidates.at(candidates)
        # As many entries as with all candidates: with few of them, more rows at a time, as long as
        # the rows themselves stay small.
        height = self.block_rows * len(self._candidates) // max(1, len(doubled))
        height = min(height, MAX_BUFFER_BYTES // (4 * self.corpus.shape[1]), len(rows))
        height = max(1, height)
        buffer = np.empty((height, len(doubled)), dtype=np.float32)
        for start, stop in block_bounds(len(rows), height):
            features, block = self.features(rows[start:stop]), buffer[: stop - start]
            np.matmul(features, doubled.T, out=block)
            block += self.norms[rows[start:stop], None]
            block += norms
            if self.added is not None:
                block += self.added.block(rows[start:stop], candidates)
            yield slice(start, stop), np.maximum(block, 0, out=block)

    def column(self, column: Column) -> Float32:
        """C_·c of one candidate, (N,): overwritten when others are computed."""
        slot = int(self._slot_of[column.candidate])
        if slot < 0 or self._batch[slot] != column.batch:
            members = np.array(column.members)
            self._compute(members)
            self._batch[self._slot_of[members]] = column.batch
        found: Float32 = self._kept[self._touch(column.candidate)]
        return found

    def features(self, rows: Int64) -> Float32:
        """φ of these corpus rows (ascending)."""
        first, last = int(rows[0]), int(rows[-1])
        if last - first + 1 == len(rows):
            return self.corpus.read(first, last + 1)
        if self._in_memory is not None:
            return self._in_memory[rows]
        found = np.empty((len(rows), self.corpus.shape[1]), dtype=np.float32)
        for start in range(first, last + 1, COLUMN_BLOCK_ROWS):
            stop = min(start + COLUMN_BLOCK_ROWS, last + 1)
            low, high = np.searchsorted(rows, [start, stop])
            if high > low:
                found[low:high] = self.corpus.read(start, stop)[rows[low:high] - start]
        return found

    def _compute(self, candidates: Int64) -> None:
        slots = np.array([self._touch(int(candidate)) for candidate in candidates])
        doubled = self._candidates.doubled[candidates]
        norms = self._candidates.norms[candidates, None]
        for start, stop in block_bounds(self.n_rows, COLUMN_BLOCK_ROWS):
            block = doubled @ self.corpus.read(start, stop).T
            block += self.norms[start:stop]
            block += norms
            if self.added is not None:
                block += self.added.block(slice(start, stop), candidates).T
            self._kept[slots, start:stop] = np.maximum(block, 0, out=block)

    def _touch(self, candidate: int) -> int:
        """The slot of a candidate, which becomes the most recently used."""
        slot = int(self._slot_of[candidate])
        if slot < 0:
            slot = int(self._used.argmin())
            if self._holder[slot] >= 0:
                self._slot_of[self._holder[slot]] = -1
            self._holder[slot], self._slot_of[candidate] = candidate, slot
        self._clock += 1
        self._used[slot] = self._clock
        return slot
