"""Costs of a facility location problem, whose rows are with the workers of the engine.

What travels has the size of the pool or of the chosen set: gains, changes of the cost, and which
candidates are chosen.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil
from typing import Any

import numpy as np

from take.engine import Held, current
from take.rows.arrays import Float32, Float64, Int64
from take.rows.blocks import RowBlocks, part_bounds, window
from take.selection.facility_rows import FacilityRows, Limits
from take.transport.costs import MAX_BUFFER_BYTES, Candidates, Column
from take.transport.coupling import GroupCosts

LEAST_BUFFER_BYTES = 2**20


class FacilityCosts:
    """Costs of a weighted corpus and a pool, whose rows are with the workers.

    >>> from take.rows.blocks import ArrayBlocks
    >>> points = np.array([[1, 0], [0, 1]], dtype=np.float32)
    >>> with FacilityCosts.of(ArrayBlocks(points), np.array([0.25, 0.75]), points, 2**20) as costs:
    ...     costs.means().tolist(), costs.total("cost", (costs.column(1),))
    ([1.5, 0.5], 0.5)
    """

    def __init__(self, held: Held, candidates: Candidates, slots: int) -> None:
        self._held, self._slots, self._candidates = held, slots, candidates
        self._shared = held.share(candidates)
        self._known: OrderedDict[int, Column] = OrderedDict()
        self._batches = 0
        self._added_means: Float64 | None = None

    @classmethod
    @contextmanager
    def of(
        cls,
        corpus: RowBlocks,
        weights: Float64,
        pool: Float32,
        memory_bytes: int,
        block_rows: int = 2048,
        added: GroupCosts | None = None,
    ) -> Iterator[FacilityCosts]:
        """Keep the rows with the workers within the block."""
        engine, (n_rows, n_features) = current(), corpus.shape
        bounds = part_bounds(n_rows, min(block_rows, n_rows))
        part_rows = bounds[0][1]
        # Columns and products as of one process with all parts, so that they are the same on any
        # engine; whether the rows are read again changes nothing.
        alone = memory_bytes // len(bounds)
        rows_bytes = 4 * part_rows * n_features
        left = alone - rows_bytes if rows_bytes <= alone // 2 else alone
        buffer = min(MAX_BUFFER_BYTES, max(memory_bytes // 16, LEAST_BUFFER_BYTES))
        limits = Limits(
            slots=max(1, min(len(pool), left // (4 * part_rows))),
            block_rows=max(1, min(block_rows, buffer // (4 * len(pool)))),
            corpus_bytes=memory_bytes // ceil(len(bounds) / engine.processes) // 2,
        )
        parts = [
            FacilityRows(
                window(corpus, start, stop),
                weights[start:stop],
                added.between(start, stop) if added else None,
                limits,
            )
            for start, stop in bounds
        ]
        with engine.hold(parts) as held:
            costs = cls(held, Candidates(pool), limits.slots)
            costs._added_means = added.mean(weights) if added else None
            yield costs

    @property
    def n_candidates(self) -> int:
        """M."""
        return len(self._candidates)

    def parts(self, method: str, *arguments: Any) -> Iterator[Any]:
        """What a method of `FacilityRows` gives for each part of the rows."""
        return self._held.call(method, self._shared, *arguments)

    def total(self, method: str, *arguments: Any) -> Any:
        """Its sum over the parts, in their order."""
        total: Any = 0
        for part in self.parts(method, *arguments):
            total = total + part
        return total

    def means(self) -> Float64:
        """Σ_n w_n C_nc = Σ_n w_n ‖x_n‖² + ‖y_c‖² − 2⟨Σ_n w_n x_n, y_c⟩ of each candidate."""
        mean, square = np.zeros(self._candidates.doubled.shape[1]), 0.0
        for part in self.parts("moments"):
            mean += part.mean
            square += part.square
        costs: Float64 = square + self._candidates.norms + self._candidates.doubled @ mean
        return costs if self._added_means is None else costs + self._added_means

    def column(self, candidate: int, likely: Int64 | None = None) -> Column:
        """A candidate's column. If it must be computed, so are those likely to follow."""
        if candidate not in self._known:
            wanted = {candidate}
            if likely is not None:
                wanted |= {int(one) for one in likely if int(one) not in self._known}
            members = tuple(sorted(wanted)) if len(wanted) <= self._slots else (candidate,)
            for one in members:
                self._known[one] = Column(one, self._batches, members)
            self._batches += 1
        self._known.move_to_end(candidate)
        while len(self._known) > self._slots:
            self._known.popitem(last=False)
        return self._known[candidate]
