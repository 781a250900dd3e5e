"""Squared-Euclidean costs: of a block of rows, and parts of the whole matrix as a search needs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from take.errors import TakeError
from take.rows.arrays import Float32, Int64
from take.rows.blocks import ArrayBlocks, RowBlocks, block_bounds, squared_norms
from take.transport.coupling import GroupCosts

MAX_BUFFER_BYTES = 64 * 2**20
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


class CostColumns:
    """C_nc = ‖x_n − y_c‖², by blocks of rows against the whole pool, or by single columns.

    `added` are further costs, such as those of a prior coupling.

    A search uses the same few columns again and again, so computed columns are kept, and the least
    recently used is dropped. The corpus is kept in memory if it fits half the limit; otherwise it
    is read by blocks for every request.

    >>> points = np.array([[1, 0], [0, 1]], dtype=np.float32)
    >>> costs = CostColumns(ArrayBlocks(points), points, memory_bytes=2**20)
    >>> costs.column(1).tolist()
    [2.0, 0.0]
    >>> [block.tolist() for _, block in costs.row_blocks(np.array([1]))]
    [[[2.0, 0.0]]]
    """

    def __init__(
        self,
        corpus: RowBlocks,
        pool: Float32,
        memory_bytes: int,
        block_rows: int = 2048,
        added: GroupCosts | None = None,
    ) -> None:
        n_rows, n_features = corpus.shape
        self.added = added
        self.n_rows, self.n_candidates = n_rows, len(pool)
        self.pool, self.pool_norms = pool, squared_norms(pool)
        self._doubled = pool * np.float32(-2)
        corpus_bytes = 4 * n_rows * n_features
        self._in_memory: Float32 | None = None
        if corpus_bytes <= memory_bytes // 2:
            self._in_memory = np.empty((n_rows, n_features), dtype=np.float32)
            for start, stop in block_bounds(n_rows):  # not all pages of a mapped file at once
                self._in_memory[start:stop] = corpus.read(start, stop)
            corpus = ArrayBlocks(self._in_memory)
            memory_bytes -= corpus_bytes
        self.corpus = corpus
        self.norms = np.empty(n_rows, dtype=np.float32)
        for start, stop in block_bounds(n_rows, COLUMN_BLOCK_ROWS):
            self.norms[start:stop] = squared_norms(corpus.read(start, stop))
        # No block of rows × candidates is larger than this, however large the pool.
        limit = min(MAX_BUFFER_BYTES, max(memory_bytes // 4, 2**20))
        self.block_rows = max(1, min(block_rows, limit // (4 * len(pool))))
        slots = max(1, min(len(pool), memory_bytes // (4 * n_rows)))
        self._kept = np.empty((slots, n_rows), dtype=np.float32)  # untouched pages cost nothing
        self._slot_of = np.full(len(pool), -1, dtype=np.int64)
        self._holder = np.full(slots, -1, dtype=np.int64)
        self._used = np.zeros(slots, dtype=np.int64)
        self._clock = 0

    def row_blocks(
        self, rows: Int64, candidates: Int64 | None = None
    ) -> Iterator[tuple[slice, Float32]]:
        """C of these rows (ascending) and all candidates, or some (ascending), by parts of rows.

        A part is overwritten by the next.
        """
        doubled, norms = self._doubled, self.pool_norms
        if candidates is not None and len(candidates) == self.n_candidates:
            candidates = None
        if candidates is not None:
            doubled, norms = doubled[candidates], norms[candidates]
        # As many entries as with all candidates: with few of them, more rows at a time, as long as
        # the rows themselves stay small.
        height = self.block_rows * self.n_candidates // max(1, len(doubled))
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

    def column(self, candidate: int, likely: Int64 | None = None) -> Float32:
        """C_·c of one candidate, (N,). If it must be computed, so are those likely to follow."""
        if self._slot_of[candidate] < 0:
            wanted = np.array([candidate])
            if likely is not None:
                wanted = np.union1d(likely[self._slot_of[likely] < 0], wanted)
            if len(wanted) > len(self._holder):
                wanted = np.array([candidate])
            self._compute(wanted)
        column: Float32 = self._kept[self._touch(candidate)]
        return column

    def restricted(self, candidates: Int64) -> CostColumns:
        """The same corpus with only some of the candidates."""
        memory_bytes = 4 * self.n_rows * min(64, len(candidates))
        added = self.added.of_targets(candidates) if self.added else None
        return CostColumns(self.corpus, self.pool[candidates], memory_bytes, self.block_rows, added)

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
        doubled, norms = self._doubled[candidates], self.pool_norms[candidates, None]
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
