"""Queries and the reference rows that resemble them, and the search for them by cosine.

The search holds a block of similarities at a time, never queries × reference rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from take.rows.arrays import Float32, Float64, Int64
from take.rows.blocks import DEFAULT_BLOCK_ROWS, block_bounds

if TYPE_CHECKING:
    from take.encoder.embeddings import Embeddings

_BLOCK_ENTRIES = 4_000_000
"""Cosines in memory at a time."""


@dataclass(frozen=True)
class Matches:
    """The best reference row of each query; row −1 and value 0 where there is none."""

    value: Float64
    row: Int64


@dataclass(frozen=True)
class Pairs:
    """Queries and reference rows that resemble each other, by query and then by row."""

    query: Int64
    row: Int64
    value: Float64

    @classmethod
    def concatenated(cls, parts: Sequence[Pairs]) -> Pairs:
        """All pairs of all parts, in order; no part, no pair."""
        empty = np.empty(0, np.int64)
        query = np.concatenate([empty, *(part.query for part in parts)])
        row = np.concatenate([empty, *(part.row for part in parts)])
        value = np.concatenate([np.empty(0), *(part.value for part in parts)])
        order = np.lexsort((row, query))
        return cls(query[order], row[order], value[order])

    def best(self, n_queries: int) -> Matches:
        """The first of the best rows of each query."""
        order = np.lexsort((self.row, -self.value, self.query))
        query, first = np.unique(self.query[order], return_index=True)
        matches = Matches(np.zeros(n_queries), np.full(n_queries, -1, dtype=np.int64))
        matches.value[query] = self.value[order][first]
        matches.row[query] = self.row[order][first]
        return matches


def nearest_by_cosine(queries: Embeddings, reference: Embeddings) -> Matches:
    """The reference row of highest cosine; for pairs, the lower cosine of the two texts counts.

    >>> from take.encoder.embeddings import Embeddings, MappedVectors
    >>> vectors = MappedVectors(np.eye(3, dtype=np.float32))
    >>> reference = Embeddings(vectors, np.array([[0], [1], [2]]))
    >>> nearest_by_cosine(Embeddings(vectors, np.array([[2], [0]])), reference).row.tolist()
    [2, 0]
    """
    n_queries = len(queries.rows)
    best = Matches(np.zeros(n_queries), np.full(n_queries, -1, dtype=np.int64))
    for start, cosines in _cosine_blocks(queries, reference):
        row = cosines.argmax(axis=0)
        value = cosines[row, np.arange(n_queries)]
        better = value > best.value
        best.value[better] = value[better]
        best.row[better] = start + row[better]
    return best


def pairs_by_cosine(queries: Embeddings, reference: Embeddings, floor: float) -> Pairs:
    """All queries and reference rows whose cosine is `floor` or more."""
    found = []
    for start, cosines in _cosine_blocks(queries, reference):
        row, query = np.nonzero(cosines >= floor)
        found.append(Pairs(query, row + start, cosines[row, query].astype(np.float64)))
    return Pairs.concatenated(found)


def _cosine_blocks(queries: Embeddings, reference: Embeddings) -> Iterator[tuple[int, Float32]]:
    """Cosines (reference rows, queries) a block at a time, and where the block starts."""
    if not len(queries.rows):
        return
    columns = [queries.strings.take(column) for column in queries.rows.T]
    block_rows = max(1, min(DEFAULT_BLOCK_ROWS, _BLOCK_ENTRIES // len(queries.rows)))
    for start, stop in block_bounds(len(reference.rows), block_rows):
        wanted = reference.rows[start:stop].T
        parts = [
            reference.strings.take(theirs) @ ours.T
            for theirs, ours in zip(wanted, columns, strict=True)
        ]
        yield start, parts[0] if len(parts) == 1 else np.minimum(parts[0], parts[1])
