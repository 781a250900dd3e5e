"""Which training rows each distilled row represents: the plan restricted to the choice.

With the scope `class` a training row is assigned to a distilled row of its own class. *Strays*,
rows of a class without a distilled row, are assigned to the nearest row of any class, so that every
training row is assigned and all masses sum to 1; they are counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, get_args

import numpy as np
import pandas as pd

from take.rows.arrays import Float32, Float64, Int64
from take.rows.blocks import RowBlocks, rows_at, squared_norms
from take.rows.labelled import TEXT_COLUMNS, task_of
from take.rows.nearest import Nearest, nearest
from take.rows.passes import compute_blocks
from take.selection.describe.distillation import Distillation, Part, refuse
from take.selection.groups import RowGroups
from take.selection.selection_settings import Plan
from take.transport.costs import TransportError
from take.transport.sinkhorn import EPSILON, conditional_plan, entropic_plan

TOP = 20
TOLERANCE = 1e-6  # on sums of mass

PlanBlocks = Iterable[tuple[int, Float64, Float32]]
"""First row, γ_nc / w_n and C_nc of blocks of corpus rows."""


@dataclass(frozen=True)
class Lineage:
    """The plan from the corpus to the distilled rows, cut to the L heaviest rows of each."""

    target: Int64  # (E,) ascending; within a target the heaviest row first
    row: Int64  # (E,) corpus row
    mass: Float64  # (E,) γ_nc
    distance: Float32  # (E,) ‖φ(z_n) − φ(z̃_c)‖
    assigned: Float64  # (K,) Σ_n γ_nc; sums to 1
    unlisted: Float64  # (K,) the mass of rows beyond the L listed
    main_target: Int64  # (N,) where most of the row goes; rows of weight 0 have one, too
    main_distance: Float32  # (N,)
    strays: Int64  # corpus rows of a class without a distilled row

    @cached_property
    def rows(self) -> Int64:
        """Number of corpus rows whose main target each distilled row is, (K,)."""
        counts: Int64 = np.bincount(self.main_target, minlength=len(self.assigned))
        return counts


class LineageTables(NamedTuple):
    """The lineage for a reader."""

    lineage: pd.DataFrame
    """For each distilled row the training rows it represents, heaviest first, with their texts."""
    totals: pd.DataFrame
    """One row per distilled row, without ids or texts of training rows: it can be released."""
    assignments: pd.DataFrame
    """Every training row exactly once, with the distilled row that represents most of it."""


def trace(
    distillation: Distillation,
    plan: Plan = "nearest",
    top: int = TOP,
    epsilon: float = EPSILON,
    groups: RowGroups | None = None,
) -> Lineage:
    """γ_nc from every corpus row to the distilled rows, class by class if the scope is `class`.

    `nearest` assigns each row to the nearest allowed row: the cheapest plan of Eq. 3 with a free
    target marginal. `entropic` shares it among them as Eq. 11 does, with a uniform target within
    each class, so that all rows of a class represent equal masses *by construction*. Strays, and
    classes of weight 0, to which Eq. 11 does not apply, go to the nearest row with either plan.
    With `groups`, `entropic` has the prior coupling that keeps transport within them.

    >>> from take.rows.blocks import ArrayBlocks
    >>> rows = np.array([[1, 0], [0.8, 0.6], [0, 1]], dtype=np.float32)
    >>> weights, labels = np.array([0.5, 0.3, 0.2]), np.zeros(3, dtype=np.int64)
    >>> made = Distillation(ArrayBlocks(rows), weights, labels, rows, labels, np.array([2, 0]))
    >>> found = trace(made, top=1)
    >>> found.main_target.tolist(), found.assigned.tolist(), found.unlisted.round(9).tolist()
    ([1, 1, 0], [0.2, 0.8], [0.0, 0.3])
    """
    refuse(plan not in get_args(Plan), "plan", repr(plan), str(get_args(Plan)))
    refuse(top < 1, "top", f"{top}", "one listed row per distilled row or more")
    n_rows, K = len(distillation.labels), len(distillation.chosen)
    main_target, assigned = np.full(n_rows, -1, dtype=np.int64), np.zeros(K)
    strays, entries = np.empty(0, dtype=np.int64), []
    for part in distillation.parts():
        weights = distillation.weights[part.rows]
        phi, targets = rows_at(distillation.corpus, part.rows), distillation.targets[part.targets]
        if plan == "nearest" or part.stray or not weights.sum() > 0:
            found = nearest_heaviest_rows(nearest(phi, targets), weights, len(targets), top)
        else:
            blocks = _entropic_plan(part, phi, weights, targets, epsilon, groups)
            found = heaviest_rows(blocks, weights, len(targets), top)
        main_target[part.rows] = part.targets[found.main_target]
        assigned[part.targets] += found.assigned
        entries.append((part.targets[found.target], part.rows[found.row], found.mass))
        strays = part.rows if part.stray else strays
    target, row, listed = _merged(entries, top)
    lineage = Lineage(
        target=target,
        row=row,
        mass=listed,
        distance=_distances(rows_at(distillation.corpus, row), distillation.targets, target),
        assigned=assigned,
        unlisted=np.maximum(assigned - np.bincount(target, weights=listed, minlength=K), 0),
        main_target=main_target,
        main_distance=_distances(distillation.corpus, distillation.targets, main_target),
        strays=strays,
    )
    _check(lineage)
    return lineage


class HeaviestRows(NamedTuple):
    """The L heaviest corpus rows of each target, and the totals of the plan."""

    target: Int64  # (E,)
    row: Int64  # (E,)
    mass: Float64  # (E,) γ_nc
    assigned: Float64  # (K,) Σ_n γ_nc
    main_target: Int64  # (N,) argmax_c γ_nc / w_n


def heaviest_rows(blocks: PlanBlocks, weights: Float64, n_targets: int, top: int) -> HeaviestRows:
    """Keep the best `top` rows of each target while the plan is read, block by block.

    Capped weights make many masses equal: of equals the nearest row is listed first.

    >>> shares, costs = np.array([[1, 0], [1, 0], [0, 1]]), np.zeros((3, 2), dtype=np.float32)
    >>> weights = np.array([0.5, 0.3, 0.2])
    >>> found = heaviest_rows([(0, shares, costs)], weights, n_targets=2, top=1)
    >>> found.row.tolist(), found.mass.tolist(), found.assigned.tolist()
    ([0, 2], [0.5, 0.2], [0.8, 0.2])
    """
    best_mass = np.zeros((n_targets, top))
    best_cost = np.full((n_targets, top), np.inf)
    best_row = np.full((n_targets, top), -1, dtype=np.int64)
    assigned = np.zeros(n_targets)
    main_target = np.empty(len(weights), dtype=np.int64)
    for start, shares, costs in blocks:
        stop = start + len(shares)
        main_target[start:stop] = shares.argmax(axis=1)
        mass = shares.T * weights[start:stop]
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
    return HeaviestRows(
        np.nonzero(listed)[0], best_row[listed], best_mass[listed], assigned, main_target
    )


def nearest_heaviest_rows(
    found: Nearest, weights: Float64, n_targets: int, top: int
) -> HeaviestRows:
    """`heaviest_rows` of the plan of Eq. 3 with a free target marginal: each row to its nearest.

    >>> found = Nearest(np.array([0, 0.6, 0], dtype=np.float32), np.array([0, 0, 1]))
    >>> heaviest = nearest_heaviest_rows(found, np.array([0.5, 0.3, 0.2]), n_targets=2, top=1)
    >>> heaviest.row.tolist(), heaviest.mass.tolist(), heaviest.assigned.tolist()
    ([0, 2], [0.5, 0.2], [0.8, 0.2])
    """
    order = np.lexsort((found.distance, -weights, found.row))
    target = found.row[order]
    rank = np.arange(len(target)) - np.searchsorted(target, target)
    listed = (rank < top) & (weights[order] > 0)
    row = order[listed]
    assigned = np.bincount(found.row, weights, minlength=n_targets).astype(np.float64)
    return HeaviestRows(target[listed], row, weights[row], assigned, found.row)


def lineage_tables(
    lineage: Lineage, corpus_table: pd.DataFrame, distilled: pd.DataFrame
) -> LineageTables:
    """The lineage as tables; `distilled` has the chosen rows in their order."""
    K, n_rows = len(lineage.assigned), len(lineage.main_target)
    for name, frame, expected in (("distilled", distilled, K), ("corpus", corpus_table, n_rows)):
        refuse(len(frame) != expected, name, f"{len(frame)} rows", f"{expected} rows, as traced")
        refuse(not frame["id"].is_unique, f"{name}, column 'id'", "ids repeat", "each id once")
    ids = distilled["id"].reset_index(drop=True)
    sources = corpus_table[["id", *TEXT_COLUMNS[task_of(corpus_table)], "label_name"]]
    starts = np.searchsorted(lineage.target, np.arange(K))
    table = pd.DataFrame(
        {
            "id": ids.iloc[lineage.target].array,
            "rank": np.arange(len(lineage.target)) - starts[lineage.target] + 1,
            "mass": lineage.mass,
            "share": lineage.mass / lineage.assigned[lineage.target],
            "distance": lineage.distance,
        }
    ).join(sources.iloc[lineage.row].reset_index(drop=True).add_prefix("source_"))
    table.insert(2, "source_id", table.pop("source_id"))
    distances = np.bincount(lineage.main_target, lineage.main_distance, minlength=K)
    n_present = np.where(lineage.rows > 0, lineage.rows, np.nan)  # no rows have no mean
    totals = pd.DataFrame(
        {
            "id": ids,
            "label_name": distilled["label_name"].array,
            "assigned_mass": lineage.assigned,
            "listed_mass": lineage.assigned - lineage.unlisted,
            "unlisted_mass": lineage.unlisted,
            "rows": lineage.rows,
            "mean_distance": distances / n_present,
        }
    )
    assignments = pd.DataFrame(
        {
            "source_id": corpus_table["id"].array,
            "id": ids.iloc[lineage.main_target].array,
            "distance": lineage.main_distance,
        }
    )
    return LineageTables(table, totals, assignments)


def _entropic_plan(
    part: Part,
    phi: RowBlocks,
    weights: Float64,
    targets: Float32,
    epsilon: float,
    groups: RowGroups | None,
) -> PlanBlocks:
    # The plan depends on shares within the class only.
    shares = weights / weights.sum()
    prior = groups.couple(part.rows, phi, shares, targets) if groups else None
    found = entropic_plan(phi, shares, targets, epsilon=epsilon, prior=prior)
    return conditional_plan(phi, targets, found.theta, found.epsilon, prior)


def _merged(
    entries: Sequence[tuple[Int64, Int64, Float64]], top: int
) -> tuple[Int64, Int64, Float64]:
    """The `top` entries of each target: strays may lengthen a list. Equals stay as listed."""
    target, row, mass = (np.concatenate(column) for column in zip(*entries, strict=True))
    order = np.lexsort((-mass, target))
    target, row, mass = target[order], row[order], mass[order]
    kept = np.arange(len(target)) - np.searchsorted(target, target) < top
    return target[kept], row[kept], mass[kept]


def _distances(rows: RowBlocks, targets: Float32, target: Int64) -> Float32:
    """‖x_n − y_c(n)‖, from the difference itself, by blocks."""

    def distances(start: int, block: Float32, target: Int64) -> Float32:
        found: Float32 = np.sqrt(squared_norms(block - targets[target]))
        return found

    parts = compute_blocks(distances, rows, target)
    return np.concatenate([np.empty(0, dtype=np.float32), *parts])


def _check(lineage: Lineage) -> None:
    """Every row is assigned, and no mass is lost."""
    K = len(lineage.assigned)
    listed = np.bincount(lineage.target, weights=lineage.mass, minlength=K)
    gap = float(np.abs(listed + lineage.unlisted - lineage.assigned).max())
    lost = abs(float(lineage.assigned.sum()) - 1)
    unassigned = int((lineage.main_target < 0).sum())
    if gap > TOLERANCE or lost > TOLERANCE or unassigned:
        raise TransportError(
            f"the lineage does not add up: {unassigned} rows are not assigned, the masses sum to "
            f"1 ± {lost:.3g}, and listed and unlisted are off by {gap:.3g}. Allowed: "
            f"{TOLERANCE}. Fix: use the plan `nearest`, and report this."
        )
