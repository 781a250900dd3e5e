"""The closest references of queries, without ever holding the queries × references matrix.

The closest of unit vectors is the one of largest inner product, so a block costs one matrix
product. The distance itself is then taken from the difference: √(2 − 2⟨q, r⟩) would turn fp32's
rounding of an inner product into 0.0003 between two equal vectors.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from take.rows.arrays import Float32, Float64, Int64
from take.rows.blocks import (
    DEFAULT_BLOCK_ROWS,
    ArrayBlocks,
    RowBlocks,
    block_bounds,
    map_blocks,
    rows_at,
    squared_norms,
)
from take.rows.passes import compute_blocks

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
        self.row = np.full(n_queries, -1, np.int64)

    def update(self, row: Int64, product: Float32) -> None:
        """Keep the references of a later block where the product is larger."""
        better = np.flatnonzero(product > self.product)
        self.product[better], self.row[better] = product[better], row[better]

    def replace(self, which: Int64, other: Best) -> None:
        """For these queries, keep what another search found."""
        self.product[which], self.row[which] = other.product[which], other.row[which]

    def nearest(self, queries: RowBlocks | Float32, references: RowBlocks | Float32) -> Nearest:
        """With the distances, from the differences themselves."""
        distance = np.full(len(self.row), np.inf, np.float32)
        has_one = np.flatnonzero(self.row >= 0)
        for start, stop in block_bounds(len(has_one)):
            part = has_one[start:stop]
            difference = _taken(queries, part) - _taken(references, self.row[part])
            distance[part] = np.sqrt(squared_norms(difference))
        return Nearest(distance, self.row)


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
    excluded = np.full(query_rows.shape[0], -1) if exclude is None else exclude

    def compare(ours: Float32, theirs: Float32, start: int, left_out: Int64) -> _Found:
        products, column = ours @ theirs.T, left_out - start
        inside = (left_out >= 0) & (column >= 0) & (column < len(theirs))
        products[inside, column[inside]] = -np.inf
        return _largest(products, start)

    def of_queries(start: int, ours: Float32, left_out: Int64) -> Nearest:
        best = Best(len(ours))
        for begin, theirs in map_blocks(_Block, reference_rows, block_rows):
            best.update(*compare(ours, theirs, begin, left_out))
        return best.nearest(ours, references)

    def of_references(start: int, theirs: Float32) -> _Found:
        found = [
            compare(ours, theirs, start, excluded[begin : begin + len(ours)])
            for begin, ours in map_blocks(_Block, query_rows, block_rows)
        ]
        return _Found(*map(np.concatenate, zip(*found, strict=True)))

    if isinstance(references, np.ndarray):
        return _joined(compute_blocks(of_queries, query_rows, excluded, block_rows=block_rows))
    best = Best(query_rows.shape[0])
    if query_rows.shape[0]:
        for found in compute_blocks(of_references, reference_rows, block_rows=block_rows):
            best.update(*found)
    return best.nearest(queries, references)


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

    def compare(start: int, block: Float32, labels: Int64) -> list[Nearest]:
        any_class, own_class = Best(len(block)), Best(len(block))
        products = block @ references.T
        any_class.update(*_largest(products))
        np.copyto(products, np.float32(-np.inf), where=labels[:, None] != reference_labels)
        own_class.update(*_largest(products))
        return [best.nearest(block, references) for best in (any_class, own_class)]

    found = list(compute_blocks(compare, queries, query_labels, block_rows=block_rows))
    return NearestByClass(*(_joined(part[which] for part in found) for which in (0, 1)))


@dataclass(frozen=True)
class Closest:
    """What `closest_rows` finds in one pass over the references."""

    first: Nearest
    second: Nearest
    draws: list[Nearest]

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

    def compare(
        start: int, block: Float32, of_draw: Int64
    ) -> tuple[list[_Found], dict[int, _Found]]:
        products = queries @ block.T
        by_draw = {}
        for draw in np.unique(of_draw[of_draw != NO_DRAW]).tolist():
            columns = np.flatnonzero(of_draw == draw)
            column, product = _largest(products[:, columns])
            by_draw[draw] = _Found(start + columns[column], product)
        two = []
        for _ in range(min(2, len(block))):
            found = _largest(products, start)
            products[np.arange(n_queries), found.row - start] = -np.inf
            two.append(found)
        return two, by_draw

    block_rows = max(1, min(DEFAULT_BLOCK_ROWS, _BLOCK_ENTRIES // max(1, n_queries)))
    blocks = compute_blocks(compare, references, draw_of_row, block_rows=block_rows)
    for two, by_draw in blocks:
        for draw, found in by_draw.items():
            draws[draw].update(*found)
        for row, product in two:
            is_first = product > first.product
            second.replace(np.flatnonzero(is_first), first)
            first.update(row, product)
            second.update(row, np.where(is_first, np.float32(-np.inf), product))
    found_first, found_second, *of_draws = (
        best.nearest(queries, references) for best in (first, second, *draws)
    )
    return Closest(found_first, found_second, of_draws)


def nearest_rows(queries: Float32, references: RowBlocks, count: int) -> Int64:
    """The `count` closest references of each query (all, if there are fewer), in no order.

    >>> points = np.array([[1, 0], [0, 1], [0.6, 0.8]], dtype=np.float32)
    >>> np.sort(nearest_rows(points[1:2], ArrayBlocks(points), count=2)).tolist()
    [[1, 2]]
    """

    def largest(products: Float32, rows: Int64) -> _Found:
        if rows.shape[1] <= count:
            return _Found(rows, products)
        best = np.argpartition(products, -count, axis=1)[:, -count:]
        return _Found(np.take_along_axis(rows, best, 1), np.take_along_axis(products, best, 1))

    def compare(start: int, block: Float32) -> _Found:
        rows = np.broadcast_to(np.arange(start, start + len(block)), (len(queries), len(block)))
        return largest(queries @ block.T, rows)

    found = _Found(np.empty((len(queries), 0), np.int64), np.empty((len(queries), 0), np.float32))
    block_rows = max(1, min(DEFAULT_BLOCK_ROWS, _BLOCK_ENTRIES // max(1, len(queries))))
    for new in compute_blocks(compare, references, block_rows=block_rows):
        found = largest(np.hstack([found.product, new.product]), np.hstack([found.row, new.row]))
    return found.row


class _Block(NamedTuple):
    start: int
    rows: Float32


class _Found(NamedTuple):
    """References of each query, by number, and their products."""

    row: Int64
    product: Float32


def _as_blocks(rows: RowBlocks | Float32) -> RowBlocks:
    return ArrayBlocks(rows) if isinstance(rows, np.ndarray) else rows


def _taken(rows: RowBlocks | Float32, index: Int64) -> Float32:
    if isinstance(rows, np.ndarray):
        return rows[index]
    return rows_at(rows, index).read(0, len(index))


def _joined(parts: Iterable[Nearest]) -> Nearest:
    """What was found for blocks of queries."""
    none = Nearest(np.empty(0, np.float32), np.empty(0, np.int64))
    return Nearest(*map(np.concatenate, zip(none, *parts, strict=True)))


def _largest(products: Float32, start: int = 0) -> _Found:
    """The column of each row's largest product, counted from `start`, and that product."""
    column = products.argmax(axis=1)
    return _Found(start + column, products[np.arange(len(products)), column])
