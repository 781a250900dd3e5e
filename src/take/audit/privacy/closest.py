"""The closest references of queries: the first two, and the first of each of several samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from take.rows.arrays import Float32, Float64, Int64
from take.rows.blocks import DEFAULT_BLOCK_ROWS, RowBlocks, map_blocks

NO_DRAW = -1
"""Of a row that is in no sample."""
_BLOCK_ENTRIES = 8_000_000
"""Inner products in memory at a time."""


class Best:
    """The closest reference of each query so far; of equals the first."""

    def __init__(self, n_queries: int) -> None:
        self.product = np.full(n_queries, -np.inf, np.float32)
        self.distance = np.full(n_queries, np.inf, np.float32)
        self.row = np.full(n_queries, -1, np.int64)

    def take(self, which: Int64, other: Best) -> None:
        """Of these queries, what another has found."""
        self.product[which] = other.product[which]
        self.distance[which] = other.distance[which]
        self.row[which] = other.row[which]


@dataclass(frozen=True)
class Closest:
    """What one pass over the references finds."""

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
    """The closest two references, and the closest of each draw, in one pass over the references.

    As in `take.rows.nearest`, the closest is that of largest product; the distance is then taken
    from the difference, which alone is exact for equal vectors.
    """
    n_queries = len(queries)
    first, second = Best(n_queries), Best(n_queries)
    draws = [Best(n_queries) for _ in range(int(draw_of_row.max(initial=NO_DRAW)) + 1)]
    everyone = np.arange(n_queries)

    def best_of(start: int, block: Float32, products: Float32, columns: Int64) -> Best:
        found = Best(n_queries)
        column = columns[products[:, columns].argmax(axis=1)]
        found.product[:] = products[everyone, column]
        found.distance[:] = np.linalg.norm(queries - block[column], axis=1)
        found.row[:] = column + start
        return found

    def compare(start: int, block: Float32) -> None:
        products = queries @ block.T
        of_draw = draw_of_row[start : start + len(block)]
        for draw in np.unique(of_draw[of_draw != NO_DRAW]):
            found = best_of(start, block, products, np.flatnonzero(of_draw == draw))
            draws[draw].take(np.flatnonzero(found.product > draws[draw].product), found)
        for _ in range(min(2, len(block))):
            found = best_of(start, block, products, np.arange(len(block)))
            products[everyone, found.row - start] = -np.inf
            is_first = found.product > first.product
            is_second = ~is_first & (found.product > second.product)
            second.take(np.flatnonzero(is_first), first)
            first.take(np.flatnonzero(is_first), found)
            second.take(np.flatnonzero(is_second), found)

    block_rows = max(1, min(DEFAULT_BLOCK_ROWS, _BLOCK_ENTRIES // max(1, n_queries)))
    for _ in map_blocks(compare, references, block_rows):
        pass
    return Closest(first, second, draws)


class Drawn(NamedTuple):
    """Which draw each row belongs to; every draw has the same number of rows of each class."""

    members: Int64
    non_members: Int64


def matched_draws(
    member_labels: Int64, other_labels: Int64, most_draws: int, rng: np.random.Generator
) -> Drawn:
    """Draws of either side without a row in common: of the smaller side one, the whole of it.

    >>> members, others = np.array([0, 0, 1, 1, 1, 1]), np.array([1, 1, 2])
    >>> drawn = matched_draws(members, others, 9, np.random.default_rng(0))
    >>> np.bincount(drawn.members + 1).tolist(), drawn.non_members.tolist()
    ([2, 2, 2], [0, 0, -1])
    """
    sides = (member_labels, other_labels)
    common = np.intersect1d(member_labels, other_labels)
    sizes = {label: min(int((side == label).sum()) for side in sides) for label in common}
    drawn = []
    for side in sides:
        n_draws = min(
            [most_draws, *(int((side == label).sum()) // n for label, n in sizes.items())]
        )
        draw = np.full(len(side), NO_DRAW, dtype=np.int64)
        for label, n in sizes.items():
            rows = rng.permutation(np.flatnonzero(side == label))[: n * n_draws]
            draw[rows] = np.arange(len(rows)) // n
        drawn.append(draw)
    return Drawn(*drawn)
