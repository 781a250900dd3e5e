"""Which corpus rows each selected row stands for: the plan restricted to the selection."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from take.rows.arrays import Float32, Float64, Int64
from take.rows.blocks import RowBlocks, block_bounds
from take.rows.nearest import nearest
from take.transport.kernel import BLOCK_ROWS, Prior
from take.transport.sinkhorn import EntropicPlan, conditional_plan


@dataclass(frozen=True)
class Lineage:
    """A table of (target, corpus row, mass), largest first within a target, and its totals.

    For each target the listed masses and `unlisted` sum to `assigned`; `assigned` sums to 1.
    """

    target: Int64  # (E,)
    row: Int64  # (E,)
    mass: Float64  # (E,) γ_nc
    assigned: Float64  # (K,) Σ_n γ_nc
    unlisted: Float64  # (K,) the mass of rows beyond the top L
    rows: Int64  # (K,) corpus rows whose main target this is
    main_target: Int64  # (N,) argmax_c γ_nc / w_n: every row has one, also of weight 0


def nearest_lineage(
    corpus: RowBlocks,
    weights: Float64,
    targets: Float32,
    top: int,
    block_rows: int = BLOCK_ROWS,
) -> Lineage:
    """Each row goes whole to its nearest target: the plan of Eq. 3 with a free target marginal.

    For rows and targets of unit length.

    >>> from take.rows.blocks import ArrayBlocks
    >>> rows = np.array([[1, 0], [0.8, 0.6], [0, 1]], dtype=np.float32)
    >>> table = nearest_lineage(ArrayBlocks(rows), np.array([0.5, 0.3, 0.2]), rows[[0, 2]], top=1)
    >>> table.row.tolist(), table.mass.tolist(), table.assigned.tolist(), table.rows.tolist()
    ([0, 2], [0.5, 0.2], [0.8, 0.2], [2, 1])
    """
    found = nearest(corpus, targets, block_rows)

    def shares() -> Iterator[tuple[int, Float64, Float32]]:
        for start, stop in block_bounds(len(weights), block_rows):
            block = np.zeros((stop - start, len(targets)))
            block[np.arange(stop - start), found.row[start:stop]] = 1
            # Only the nearest matters: to the others nothing goes.
            yield start, block, np.repeat(found.distance[start:stop, None], len(targets), axis=1)

    return _table(shares(), weights, len(targets), top)


def entropic_lineage(
    corpus: RowBlocks,
    weights: Float64,
    targets: Float32,
    plan: EntropicPlan,
    top: int,
    prior: Prior | None = None,
    block_rows: int = BLOCK_ROWS,
) -> Lineage:
    """Each row is shared among targets as the entropic plan to them has it."""
    blocks = conditional_plan(corpus, targets, plan.theta, plan.epsilon, prior, block_rows)
    return _table(blocks, weights, len(targets), top)


def _table(
    shares: Iterable[tuple[int, Float64, Float32]], weights: Float64, n_targets: int, top: int
) -> Lineage:
    """The table from γ_nc / w_n and C_nc by blocks, keeping the best L rows a target as they come.

    Capped weights make many masses equal: of equals the nearest row is listed first.
    """
    best_mass = np.zeros((n_targets, top))
    best_cost = np.full((n_targets, top), np.inf)
    best_row = np.full((n_targets, top), -1, dtype=np.int64)
    assigned = np.zeros(n_targets)
    main_target = np.empty(len(weights), dtype=np.int64)
    for start, block, costs in shares:
        stop = start + len(block)
        main_target[start:stop] = block.argmax(axis=1)
        mass = block.T * weights[start:stop]
        assigned += mass.sum(axis=1)
        rows = np.broadcast_to(np.arange(start, stop), mass.shape)
        both_mass = np.hstack([best_mass, mass])
        both_row = np.hstack([best_row, rows])
        both_cost = np.hstack([best_cost, costs.T])
        # Stable: of equals in both the earlier row stays, whatever the block size.
        order = np.lexsort((both_cost, -both_mass), axis=1)[:, :top]
        best_cost = np.take_along_axis(both_cost, order, axis=1)
        best_mass = np.take_along_axis(both_mass, order, axis=1)
        best_row = np.take_along_axis(both_row, order, axis=1)
    listed = (best_row >= 0) & (best_mass > 0)
    return Lineage(
        target=np.nonzero(listed)[0],
        row=best_row[listed],
        mass=best_mass[listed],
        assigned=assigned,
        unlisted=np.maximum(assigned - best_mass.sum(axis=1), 0),
        rows=np.bincount(main_target, minlength=n_targets),
        main_target=main_target,
    )
