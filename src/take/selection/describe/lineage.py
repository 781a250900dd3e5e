"""Which training rows each distilled row stands for: the plan restricted to the choice, as tables.

Under the scope `class` a training row is assigned to a distilled row of its own class. Rows of a
class of which nothing was distilled are *strays*: they go to the nearest row of any class, so that
every training row is somewhere and all masses sum to 1, and they are counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, get_args

import numpy as np
import pandas as pd

from take.errors import InputError
from take.rows.arrays import Float32, Float64, Int64
from take.rows.blocks import RowBlocks, block_bounds, rows_at, squared_norms
from take.rows.labelled import TEXT_COLUMNS, task_of
from take.selection.selection_settings import Scope
from take.transport.errors import TransportError
from take.transport.lineage import Lineage, entropic_lineage, nearest_lineage
from take.transport.sinkhorn import EPSILON, entropic_plan

Plan = Literal["nearest", "entropic"]
TOP = 20
TOLERANCE = 1e-6  # on sums of mass
_NORM_TOLERANCE = 1e-2  # of ‖φ‖ from 1; far more than fp16 features need


class Part(NamedTuple):
    """Corpus rows, and the places in the choice of the rows they may be assigned to."""

    rows: Int64
    targets: Int64
    stray: bool = False


@dataclass(frozen=True)
class Distillation:
    """A weighted corpus, a pool and the rows chosen of it; refused if they do not fit together.

    >>> from take.rows.blocks import ArrayBlocks
    >>> rows, labels = np.eye(3, dtype=np.float32), np.array([0, 1, 1])
    >>> made = Distillation(ArrayBlocks(rows), np.full(3, 1 / 3), labels, rows, labels, [0, 2])
    >>> made.target_labels.tolist(), [part.rows.tolist() for part in made.parts()]
    ([0, 1], [[0], [1, 2]])
    """

    corpus: RowBlocks  # N rows of unit-norm φ, read by blocks
    weights: Float64  # (N,) ≥ 0, sum 1 over the whole corpus
    labels: Int64  # (N,)
    pool: Float32  # (M, d) unit-norm φ
    pool_labels: Int64  # (M,)
    chosen: Int64  # (K,) pool rows, in the order of the distilled table
    scope: Scope = "class"

    def __post_init__(self) -> None:
        object.__setattr__(self, "chosen", np.asarray(self.chosen, dtype=np.int64))
        (n_rows, width), n_pool = self.corpus.shape, len(self.pool)
        for name, shape, expected in (
            ("weights", self.weights.shape, (n_rows,)),
            ("labels", self.labels.shape, (n_rows,)),
            ("pool", self.pool.shape, (n_pool, width)),
            ("pool_labels", self.pool_labels.shape, (n_pool,)),
        ):
            _refuse(shape != expected, name, f"shape is {shape}", f"{expected}")
        _refuse(self.scope not in get_args(Scope), "scope", repr(self.scope), str(get_args(Scope)))
        K, distinct = len(self.chosen), len(np.unique(self.chosen))
        inside = K > 0 and 0 <= self.chosen.min() <= self.chosen.max() < n_pool
        _refuse(
            not inside or distinct < K,
            "chosen",
            f"{K} rows, {distinct} of them different",
            f"one row of 0 … {n_pool - 1} or more, each once",
        )
        sound = np.isfinite(self.weights).all() and (self.weights >= 0).all()
        total = float(self.weights.sum())
        _refuse(
            not sound or abs(total - 1) > TOLERANCE,
            "weights",
            f"the sum is {total:.8g}" + ("" if sound else ", some are negative or not finite"),
            "weights of at least 0 with sum 1 over the whole corpus",
        )
        for name, rows in (("pool", self.pool), ("corpus", self.corpus.read(0, min(n_rows, 1024)))):
            off = float(np.abs(np.sqrt(squared_norms(rows)) - 1).max())
            _refuse(not off <= _NORM_TOLERANCE, name, f"‖φ‖ is off by {off:.3g}", "‖φ‖ = 1")

    @cached_property
    def targets(self) -> Float32:
        """φ of the distilled rows, (K, d)."""
        return self.pool[self.chosen]

    @cached_property
    def target_labels(self) -> Int64:
        """Their labels, (K,)."""
        return self.pool_labels[self.chosen]

    def parts(self) -> Iterator[Part]:
        """Who may be assigned to whom. Every corpus row is in exactly one part."""
        everything = np.arange(len(self.chosen))
        if self.scope == "global":
            yield Part(np.arange(len(self.labels)), everything)
            return
        served = np.unique(self.target_labels)
        for label in served:
            members = np.flatnonzero(self.labels == label)
            if len(members):
                yield Part(members, np.flatnonzero(self.target_labels == label))
        strays = np.flatnonzero(~np.isin(self.labels, served))
        if len(strays):
            yield Part(strays, everything, stray=True)


@dataclass(frozen=True)
class Traced:
    """The plan from the corpus to the distilled rows, cut to the L heaviest rows of each."""

    target: Int64  # (E,) ascending; within a target the heaviest row first
    row: Int64  # (E,) corpus row
    mass: Float64  # (E,) γ_nc
    distance: Float32  # (E,) ‖φ(z_n) − φ(z̃_c)‖
    assigned: Float64  # (K,) Σ_n γ_nc; sums to 1
    unlisted: Float64  # (K,) the mass of rows beyond the L listed
    main_target: Int64  # (N,) where most of the row goes; every row has one, also of weight 0
    main_distance: Float32  # (N,)
    strays: Int64  # corpus rows of a class of which nothing was distilled

    @cached_property
    def rows(self) -> Int64:
        """Corpus rows whose main target each distilled row is, (K,)."""
        counts: Int64 = np.bincount(self.main_target, minlength=len(self.assigned))
        return counts


class LineageTables(NamedTuple):
    """The lineage for a reader."""

    lineage: pd.DataFrame
    """For each distilled row the training rows it stands for, heaviest first, with their texts."""
    totals: pd.DataFrame
    """One row per distilled row. Names no training row and quotes none: what may be released."""
    assignments: pd.DataFrame
    """Every training row exactly once, with the distilled row that stands for most of it."""


def trace(
    distillation: Distillation,
    plan: Plan = "nearest",
    top: int = TOP,
    epsilon: float = EPSILON,
) -> Traced:
    """γ_nc from every corpus row to the distilled rows, class by class where the scope is `class`.

    `nearest` gives each row whole to the nearest allowed row: the cheapest plan of Eq. 3 with a
    free target marginal. `entropic` shares it out as Eq. 11 does, with a uniform target within each
    class, so that all rows of a class stand for equally much *by construction*. Strays, and classes
    of weight 0, to which Eq. 11 does not apply, go to the nearest either way.

    >>> from take.rows.blocks import ArrayBlocks
    >>> rows = np.array([[1, 0], [0.8, 0.6], [0, 1]], dtype=np.float32)
    >>> weights, labels = np.array([0.5, 0.3, 0.2]), np.zeros(3, dtype=np.int64)
    >>> made = Distillation(ArrayBlocks(rows), weights, labels, rows, labels, np.array([2, 0]))
    >>> found = trace(made, top=1)
    >>> found.main_target.tolist(), found.assigned.tolist(), found.unlisted.round(9).tolist()
    ([1, 1, 0], [0.2, 0.8], [0.0, 0.3])
    """
    _refuse(plan not in get_args(Plan), "plan", repr(plan), str(get_args(Plan)))
    _refuse(top < 1, "top", f"{top}", "one listed row per distilled row or more")
    n_rows, K = len(distillation.labels), len(distillation.chosen)
    main_target, assigned = np.full(n_rows, -1, dtype=np.int64), np.zeros(K)
    strays, entries = np.empty(0, dtype=np.int64), []
    for part in distillation.parts():
        mass = float(distillation.weights[part.rows].sum())
        entropic = plan == "entropic" and mass > 0 and not part.stray
        found = _lineage(distillation, part, top, epsilon if entropic else None)
        main_target[part.rows] = part.targets[found.main_target]
        assigned[part.targets] += found.assigned
        entries.append((part.targets[found.target], part.rows[found.row], found.mass))
        strays = part.rows if part.stray else strays
    target, row, listed = _heaviest(entries, top)
    unlisted = np.maximum(assigned - np.bincount(target, weights=listed, minlength=K), 0)
    traced = Traced(
        target=target,
        row=row,
        mass=listed,
        distance=_distances(rows_at(distillation.corpus, row), distillation.targets, target),
        assigned=assigned,
        unlisted=unlisted,
        main_target=main_target,
        main_distance=_distances(distillation.corpus, distillation.targets, main_target),
        strays=strays,
    )
    _check(traced)
    return traced


def lineage_tables(
    traced: Traced, corpus_table: pd.DataFrame, distilled: pd.DataFrame
) -> LineageTables:
    """The tables of a trace; `distilled` has the chosen rows in their order."""
    K, n_rows = len(traced.assigned), len(traced.main_target)
    for name, frame, expected in (("distilled", distilled, K), ("corpus", corpus_table, n_rows)):
        _refuse(len(frame) != expected, name, f"{len(frame)} rows", f"{expected} rows, as traced")
        _refuse(not frame["id"].is_unique, f"{name}, column 'id'", "ids repeat", "each id once")
    ids = distilled["id"].reset_index(drop=True)
    sources = corpus_table[["id", *TEXT_COLUMNS[task_of(corpus_table)], "label_name"]]
    starts = np.searchsorted(traced.target, np.arange(K))
    lineage = pd.DataFrame(
        {
            "id": ids.iloc[traced.target].array,
            "rank": np.arange(len(traced.target)) - starts[traced.target] + 1,
            "mass": traced.mass,
            "share": traced.mass / traced.assigned[traced.target],
            "distance": traced.distance,
        }
    ).join(sources.iloc[traced.row].reset_index(drop=True).add_prefix("source_"))
    lineage.insert(2, "source_id", lineage.pop("source_id"))
    distances = np.bincount(traced.main_target, traced.main_distance, minlength=K)
    present = np.where(traced.rows > 0, traced.rows, np.nan)  # of nothing there is no mean
    totals = pd.DataFrame(
        {
            "id": ids,
            "label_name": distilled["label_name"].array,
            "assigned_mass": traced.assigned,
            "listed_mass": traced.assigned - traced.unlisted,
            "unlisted_mass": traced.unlisted,
            "rows": traced.rows,
            "mean_distance": distances / present,
        }
    )
    assignments = pd.DataFrame(
        {
            "source_id": corpus_table["id"].array,
            "id": ids.iloc[traced.main_target].array,
            "distance": traced.main_distance,
        }
    )
    return LineageTables(lineage, totals, assignments)


def _lineage(distillation: Distillation, part: Part, top: int, epsilon: float | None) -> Lineage:
    corpus, weights = rows_at(distillation.corpus, part.rows), distillation.weights[part.rows]
    targets = distillation.targets[part.targets]
    if epsilon is None:
        return nearest_lineage(corpus, weights, targets, top)
    # The plan depends on shares within the class alone; the lineage puts the class's mass back.
    plan = entropic_plan(corpus, weights / weights.sum(), targets, epsilon=epsilon)
    return entropic_lineage(corpus, weights, targets, plan, top)


def _heaviest(
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
    distances = np.empty(len(target), dtype=np.float32)
    for start, stop in block_bounds(len(target)):
        difference = rows.read(start, stop) - targets[target[start:stop]]
        distances[start:stop] = np.sqrt(squared_norms(difference))
    return distances


def _check(traced: Traced) -> None:
    """Every row is assigned, and no mass is lost; a table that breaks this is never returned."""
    K = len(traced.assigned)
    listed = np.bincount(traced.target, weights=traced.mass, minlength=K)
    gap = float(np.abs(listed + traced.unlisted - traced.assigned).max())
    lost = abs(float(traced.assigned.sum()) - 1)
    unassigned = int((traced.main_target < 0).sum())
    if gap > TOLERANCE or lost > TOLERANCE or unassigned:
        raise TransportError(
            f"the lineage does not add up: {unassigned} rows are assigned to nothing, the masses "
            f"sum to 1 ± {lost:.3g}, and listed and unlisted are off by {gap:.3g}. Allowed: "
            f"{TOLERANCE}. Fix: use the plan `nearest`, and report this."
        )


def _refuse(bad: bool, where: str, problem: str, allowed: str) -> None:
    if bad:
        remedy = "give corpus, weights, pool and choice of one run, and allowed settings"
        raise InputError(problem, where=where, allowed=allowed, remedy=remedy)
