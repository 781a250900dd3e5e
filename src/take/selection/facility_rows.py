"""Rows of a facility location problem: they stay with a worker and answer for all passes over them.

A part has its rows' distances to the chosen candidates. Calls tell which candidates these are, in
the order in which they were chosen, so that a part that is made again, because its worker died,
comes to the same state.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from take.engine import Part
from take.rows.arrays import Float64, Int64
from take.rows.blocks import RowBlocks
from take.transport.costs import Candidates, Column, CostColumns
from take.transport.coupling import GroupCosts

Taken = tuple[Column, ...]
"""Candidates in the order in which they were added to S."""


class Choice(NamedTuple):
    """A set of candidates, and the replacements in it since its rows were ranked as a whole."""

    rows: tuple[int, ...]  # (K,)
    swaps: tuple[tuple[int, Column], ...] = ()  # position in S, and its new candidate


class Moments(NamedTuple):
    """Of rows x_n with weights."""

    mean: Float64  # Σ_n w_n x_n
    square: float  # Σ_n w_n ‖x_n‖²


class Lost(NamedTuple):
    """What a candidate added to S changes."""

    gains: Float64  # by how much the gains of some others decrease
    cost: float  # Σ_n w_n D_n with it


class Limits(NamedTuple):
    """Memory of a part of rows."""

    slots: int  # columns that are kept: the same on any engine
    block_rows: int  # of a product with all candidates: the same on any engine
    corpus_bytes: int  # of rows that are kept


class FacilityRows(Part):
    """Consecutive rows, their D_n under a greedy set and their two nearest under a choice."""

    def __init__(
        self, rows: RowBlocks, weights: Float64, added: GroupCosts | None, limits: Limits
    ) -> None:
        self._rows, self._weights, self._added, self._limits = rows, weights, added, limits
        self._w32 = weights.astype(np.float32)
        self._columns: CostColumns | None = None
        self._taken: Taken = ()
        self._nearest = np.empty(0, dtype=np.float32)
        self._choice: Choice | None = None
        self._first = self._second = np.empty(0, dtype=np.int64)  # positions in S
        self._d1 = self._d2 = np.empty(0, dtype=np.float32)

    def __getstate__(self) -> dict[str, object]:
        """Without rows and state."""
        state: dict[str, object] = {"_columns": None, "_taken": (), "_nearest": None}
        state |= {"_choice": None, "_first": None, "_second": None, "_d1": None, "_d2": None}
        return self.__dict__ | state

    def moments(self, candidates: Candidates) -> Moments:
        """Of these rows."""
        columns = self._held(candidates)
        mean, square = np.zeros(columns.corpus.shape[1]), 0.0
        for start in range(0, columns.n_rows, columns.block_rows):
            stop = min(start + columns.block_rows, columns.n_rows)
            w = self._weights[start:stop]
            mean += w @ columns.corpus.read(start, stop)
            square += float(w @ columns.norms[start:stop])
        return Moments(mean, square)

    def cost(self, candidates: Candidates, taken: Taken) -> float:
        """Σ_n w_n D_n, D_n = min_{c∈S} C_nc."""
        self._take(self._held(candidates), taken)
        return float(self._weights @ self._nearest)

    def saved(self, candidates: Candidates, taken: Taken, some: Int64) -> Float64:
        """Σ_n w_n max(D_n − C_nc, 0) of some candidates (ascending)."""
        columns = self._held(candidates)
        self._take(columns, taken)
        gains = np.zeros(len(some))
        for part, block in columns.row_blocks(np.arange(columns.n_rows), some):
            np.subtract(self._nearest[part, None], block, out=block)
            gains += self._w32[part] @ np.maximum(block, 0, out=block)
        return gains

    def lost(self, candidates: Candidates, taken: Taken, added: Column, some: Int64) -> Lost:
        """Add a candidate to S.

        Where D_n falls from b to a, a gain decreases by w_n min(max(b − C_nc, 0), b − a).
        """
        columns = self._held(candidates)
        self._take(columns, taken)
        column = columns.column(added)
        rows = np.flatnonzero(column < self._nearest)
        lost = np.zeros(len(some))
        if len(rows):
            before, after, w32 = self._nearest[rows], column[rows], self._w32[rows]
            fallen = before - after
            for part, block in columns.row_blocks(rows, some):
                np.subtract(before[part, None], block, out=block)
                np.clip(block, 0, fallen[part, None], out=block)
                lost += w32[part] @ block
            self._nearest[rows] = after
        self._taken = (*taken, added)
        return Lost(lost, float(self._weights @ self._nearest))

    def choice_cost(self, candidates: Candidates, choice: Choice) -> float:
        """Σ_n w_n d1_n."""
        self._choose(self._held(candidates), choice)
        return float(self._weights @ self._d1)

    def all_changes(self, candidates: Candidates, choice: Choice, some: Int64) -> Float64:
        """Δ(a, b) for all a and some b (ascending), (K, some)."""
        from scipy.sparse import csr_array

        columns = self._held(candidates)
        self._choose(columns, choice)
        shared, removed = np.zeros(len(some)), np.zeros((len(choice.rows), len(some)))
        for part, block in columns.row_blocks(np.arange(columns.n_rows), some):
            w, d1, d2 = self._w32[part], self._d1[part, None], self._d2[part, None]
            kept = np.minimum(block, d1)
            shared += w @ kept - float(w @ d1[:, 0])
            lost = np.minimum(block, d2, out=block)
            np.subtract(lost, kept, out=lost)
            # (S × rows of the block), weights at the nearest: sums by nearest.
            members = csr_array(
                (w, (self._first[part], np.arange(len(block)))),
                shape=(len(choice.rows), len(block)),
            )
            removed += members @ lost
        removed += shared
        return removed

    def changes(self, candidates: Candidates, choice: Choice, tried: tuple[Column, ...]) -> Float64:
        """Δ(a, b) for all a and a few b, (few, K), from the columns of b."""
        columns = self._held(candidates)
        self._choose(columns, choice)
        found = np.empty((len(tried), len(choice.rows)))
        for number, one in enumerate(tried):
            column = columns.column(one)
            kept = np.minimum(column, self._d1)
            lost = np.minimum(column, self._d2)
            lost -= kept
            kept -= self._d1
            found[number] = np.bincount(self._first, lost * self._weights, len(choice.rows))
            found[number] += float(self._weights @ kept)
        return found

    def _held(self, candidates: Candidates) -> CostColumns:
        if self._columns is None:
            self._columns = CostColumns(
                self._rows,
                candidates,
                slots=self._limits.slots,
                corpus_bytes=self._limits.corpus_bytes,
                block_rows=self._limits.block_rows,
                added=self._added,
            )
        return self._columns

    def _take(self, columns: CostColumns, taken: Taken) -> None:
        """Make D_n that of these candidates."""
        if not self._taken or self._taken != taken[: len(self._taken)]:
            self._taken = ()
            self._nearest = np.full(columns.n_rows, np.inf, dtype=np.float32)
        for column in taken[len(self._taken) :]:
            np.minimum(self._nearest, columns.column(column), out=self._nearest)
        self._taken = taken

    def _choose(self, columns: CostColumns, choice: Choice) -> None:
        """Make nearest and second-nearest those of this choice."""
        own = self._choice
        if own is None or own != Choice(choice.rows, choice.swaps[: len(own.swaps)]):
            n_rows, own = columns.n_rows, Choice(choice.rows)
            self._first, self._second = (np.full(n_rows, -1) for _ in range(2))
            self._d1, self._d2 = (np.full(n_rows, np.inf, dtype=np.float32) for _ in range(2))
            self._rank(columns, np.arange(n_rows), np.array(choice.rows))
        self._choice = None
        rows = list(choice.rows)
        for number, (position, column) in enumerate(choice.swaps):
            rows[position] = column.candidate
            if number >= len(own.swaps):
                self._swap(columns, position, column, np.array(rows))
        self._choice = choice

    def _swap(self, columns: CostColumns, position: int, new: Column, rows: Int64) -> None:
        column = columns.column(new)
        touched = (self._first == position) | (self._second == position)
        closest = ~touched & (column < self._d1)
        self._d2[closest], self._second[closest] = self._d1[closest], self._first[closest]
        self._d1[closest], self._first[closest] = column[closest], position
        between = ~touched & ~closest & (column < self._d2)
        self._d2[between], self._second[between] = column[between], position
        self._rank(columns, np.flatnonzero(touched), rows)

    def _rank(self, columns: CostColumns, index: Int64, chosen: Int64) -> None:
        """Nearest and second-nearest of S for these rows; without a second, d2 stays infinite."""
        order = np.argsort(chosen, kind="stable")
        for part, costs in columns.row_blocks(index, chosen[order]):
            here, each = index[part], np.arange(costs.shape[0])
            if len(chosen) == 1:
                self._first[here], self._d1[here] = 0, costs[:, 0]
                continue
            two = np.argpartition(costs, 1, axis=1)[:, :2]
            values = np.take_along_axis(costs, two, axis=1)
            flip = (values[:, 0] > values[:, 1]).astype(np.int64)
            self._first[here], self._second[here] = (
                order[two[each, flip]],
                order[two[each, 1 - flip]],
            )
            self._d1[here], self._d2[here] = values[each, flip], values[each, 1 - flip]
