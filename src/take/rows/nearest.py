"""The closest references of queries, without ever holding the queries × references matrix.

The closest of unit vectors is the one of largest inner product, so a block costs one matrix
product. The distance itself is then taken from the difference: √(2 − 2⟨q, r⟩) would turn fp32's
rounding of an inner product into 0.0003 between two equal vectors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from take.rows.arrays import Float32, Float64, Int64
from take.rows.blocks import DEFAULT_BLOCK_ROWS, ArrayBlocks, RowBlocks, map_blocks, squared_norms

BLOCK_ROWS = 2048
NO_DRAW = -1
"""The draw of a row that is in no sample."""
_BLOCK_ENTRIES = 8_000_000
"""Inner products of `closest_rows` and `nearest_rows` in memory at a time."""


class Nearest(NamedTuple):
    """For each query, how far its closest reference is and which one; infinity and −1 if none."""

    distance: Float32
    row: Int64


class NearestByClass(NamedTuple):
    """The closest reference of any class, and the closest of the query's own class."""

    any_class: Nearest
    own_class: Nearest


class Best:
    """The closest reference of each query so far; of equals the first, whatever the block size."""

    def __init__(self, n_queries: int) -> None:
        self.product = np.full(n_queries, -np.inf, np.float32)
        self.distance = np.full(n_queries, np.inf, np.float32)
        self.row = np.full(n_queries, -1, np.int64)

    def update(self, queries: _Block, references: _Block, column: Int64, product: Float32) -> None:
        """Keep a block's best reference (`column`) of each query where its product is larger."""
        window = slice(queries.start, queries.start + len(queries.rows))
        better = np.flatnonzero(product > self.product[window])
        rows, column = queries.start + better, column[better]
        self.product[rows] = product[better]
        self.row[rows] = references.start + column
        self.distance[rows] = np.sqrt(squared_norms(queries.rows[better] - references.rows[column]))

    def replace(self, which: Int64, other: Best) -> None:
        """For these queries, keep what another search found."""
        self.product[which] = other.product[which]
        self.distance[which] = other.distance[which]
        self.row[which] = other.row[which]


class _Block(NamedTuple):
    start: int
    rows: Float32


def nearest(
    queries: RowBlocks | Float32,
    references: RowBlocks | Float32,
    block_rows: int = BLOCK_ROWS,
    exclude: Int64 | None = None,
) -> Nearest:
    """min_c ‖q_n − r_c‖ and its c, for queries and references of unit length.

    Either side may be a `RowBlocks`, which is then read once, and the other an array; two
    `RowBlocks` work too, at the price of reading the queries once per block of references.
    `exclude` names for each query one reference that does not count (−1: none), such as itself.

    >>> points = np.array([[1, 0], [0, 1], [0.6, 0.8]], dtype=np.float32)
    >>> nearest(points[2:], points[:2])
    Nearest(distance=array([0.6324555], dtype=float32), row=array([1]))
    >>> nearest(points, points, exclude=np.arange(3)).row.tolist()
    [2, 2, 1]
    """
    query_rows, reference_rows = _as_blocks(queries), _as_blocks(references)
    best = Best(query_rows.shape[0])

    def compare(ours: _Block, theirs: _Block) -> None:
        products = ours.rows @ theirs.rows.T
        if exclude is not None:
            excluded = exclude[ours.start : ours.start + len(ours.rows)]
            column = excluded - theirs.start
            inside = (excluded >= 0) & (column >= 0) & (column < len(theirs.rows))
            products[inside, column[inside]] = -np.inf
        best.update(ours, theirs, *_largest(products))

    if isinstance(references, np.ndarray):
        for ours in _blocks(query_rows, block_rows):
            for theirs in _blocks(reference_rows, block_rows):
                compare(ours, theirs)
    else:
        for theirs in _blocks(reference_rows, block_rows):
            for ours in _blocks(query_rows, block_rows):
                compare(ours, theirs)
    return Nearest(best.distance, best.row)


def nearest_by_class(
    queries: RowBlocks,
    query_labels: Int64,
    references: Float32,
    reference_labels: Int64,
    block_rows: int = BLOCK_ROWS,
) -> NearestByClass:
    """`nearest` over all references and over those of the query's class, from one matrix product.

    >>> queries = ArrayBlocks(np.array([[1, 0]], dtype=np.float32))
    >>> references = np.array([[1, 0], [0, 1]], dtype=np.float32)
    >>> found = nearest_by_class(queries, np.array([1]), references, np.array([0, 1]))
    >>> found.any_class.row.tolist(), found.own_class.row.tolist()
    ([0], [1])
    """
    any_class, own_class = Best(len(query_labels)), Best(len(query_labels))
    theirs = _Block(0, references)

    def compare(start: int, block: Float32) -> None:
        ours, products = _Block(start, block), block @ references.T
        any_class.update(ours, theirs, *_largest(products))
        is_own = query_labels[start : start + len(block), None] == reference_labels
        np.copyto(products, np.float32(-np.inf), where=~is_own)
        own_class.update(ours, theirs, *_largest(products))

    for _ in map_blocks(compare, queries, block_rows):
        pass
    return NearestByClass(*(Nearest(best.distance, best.row) for best in (any_class, own_class)))


@dataclass(frozen=True)
class Closest:
    """What `closest_rows` finds in one pass over the references."""

    first: Best
    second: Best
    draws: list[Best]

    @property
    def over_draws(self) -> Float32:
        """The distances of all draws, one after the other."""
        return np.concatenate([draw.distance for draw in self.draws])

    @property
    def ratio(self) -> Float64:
        """d₁/d₂; 1 where both are 0, and where there is no second."""
        first, second = (best.distance.astype(np.float64) for best in (self.first, self.second))
        has_two = np.isfinite(second) & (second > 0)
        return np.divide(first, second, out=np.ones_like(first), where=has_two)


def closest_rows(queries: Float32, references: RowBlocks, draw_of_row: Int64) -> Closest:
    """The closest two references, and the closest of each draw, in one pass over the references."""
    n_queries = len(queries)
    first, second = Best(n_queries), Best(n_queries)
    draws = [Best(n_queries) for _ in range(int(draw_of_row.max(initial=NO_DRAW)) + 1)]
    ours = _Block(0, queries)

    def compare(start: int, block: Float32) -> None:
        theirs = _Block(start, block)
        products = queries @ block.T
        of_draw = draw_of_row[start : start + len(block)]
        for draw in np.unique(of_draw[of_draw != NO_DRAW]):
            columns = np.flatnonzero(of_draw == draw)
            column, product = _largest(products[:, columns])
            draws[draw].update(ours, theirs, columns[column], product)
        for _ in range(min(2, len(block))):
            column, product = _largest(products)
            products[np.arange(n_queries), column] = -np.inf
            is_first = product > first.product
            second.replace(np.flatnonzero(is_first), first)
            first.update(ours, theirs, column, product)
            second.update(ours, theirs, column, np.where(is_first, np.float32(-np.inf), product))

    block_rows = max(1, min(DEFAULT_BLOCK_ROWS, _BLOCK_ENTRIES // max(1, n_queries)))
    for _ in map_blocks(compare, references, block_rows):
        pass
    return Closest(first, second, draws)


def nearest_rows(queries: Float32, references: RowBlocks, count: int) -> Int64:
    """The `count` closest references of each query (all, if there are fewer), in no order.

    >>> points = np.array([[1, 0], [0, 1], [0.6, 0.8]], dtype=np.float32)
    >>> np.sort(nearest_rows(points[1:2], ArrayBlocks(points), count=2)).tolist()
    [[1, 2]]
    """
    products = np.empty((len(queries), 0), dtype=np.float32)
    rows = np.empty((len(queries), 0), dtype=np.int64)

    def compare(start: int, block: Float32) -> None:
        nonlocal products, rows
        products = np.hstack([products, queries @ block.T])
        new = np.broadcast_to(np.arange(start, start + len(block)), (len(queries), len(block)))
        rows = np.hstack([rows, new])
        if rows.shape[1] > count:
            best = np.argpartition(products, -count, axis=1)[:, -count:]
            products = np.take_along_axis(products, best, axis=1)
            rows = np.take_along_axis(rows, best, axis=1)

    block_rows = max(1, min(DEFAULT_BLOCK_ROWS, _BLOCK_ENTRIES // max(1, len(queries))))
    for _ in map_blocks(compare, references, block_rows):
        pass
    return rows


def _as_blocks(rows: RowBlocks | Float32) -> RowBlocks:
    return ArrayBlocks(rows) if isinstance(rows, np.ndarray) else rows


def _blocks(rows: RowBlocks, block_rows: int) -> Iterator[_Block]:
    return map_blocks(_Block, rows, block_rows)


def _largest(products: Float32) -> tuple[Int64, Float32]:
    """The column of each row's largest product, and that product."""
    column = products.argmax(axis=1)
    return column, products[np.arange(len(products)), column]
