"""The input and output of a selector.

Transport selects within one class at a time (or from everything at once, for global selection).
`exam` needs all classes, because a model is trained on all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from take.errors import InputError
from take.rows.arrays import Float32, Float64, Int64
from take.rows.blocks import RowBlocks, rows_at
from take.rows.labelled import LabelledRows
from take.selection.exam.playoff import Playoff
from take.selection.groups import RowGroups, mass_within, row_groups
from take.selection.selection_settings import Scope, SelectionSettings
from take.text.related import RelatedRows
from take.transport.coupling import Coupling

WEIGHT_TOLERANCE = 1e-6


class SelectionWarning(UserWarning):
    """A selection was made, but it should not be trusted."""


@dataclass(frozen=True)
class ClassProblem:
    """One class, or everything for global selection.

    >>> from take.rows.blocks import ArrayBlocks
    >>> rows = np.eye(3, dtype=np.float32)
    >>> ClassProblem(ArrayBlocks(rows), np.full(3, 1 / 3), rows, budget=4)
    Traceback (most recent call last):
    take.errors.InputError: class problem: budget is 4. Allowed: 1 … 3 (the candidates)...
    """

    corpus: RowBlocks  # N_c rows of features, read by blocks
    weights: Float64  # (N_c,) ≥ 0, sum 1: κ weights renormalised within the class
    pool: Float32  # (M_c, d) features of candidates, in memory
    budget: int  # K_c ≤ M_c
    previous: Int64 | None = None  # at most K_c candidates to begin from
    coupling: Coupling | None = None  # which candidates a row prefers, beyond their distance

    def __post_init__(self) -> None:
        (n_rows, n_features), pool = self.corpus.shape, self.pool.shape
        if n_rows < 1 or len(pool) != 2 or pool[1] != n_features:
            raise InputError(
                f"corpus has shape {(n_rows, n_features)} and pool {pool}",
                where="class problem",
                allowed="one corpus row or more, and as many features in both",
                remedy="embed the pool with the corpus's encoder",
            )
        if not 1 <= self.budget <= pool[0]:
            raise InputError(
                f"budget is {self.budget}",
                where="class problem",
                allowed=f"1 … {pool[0]} (the candidates)",
                remedy="lower the budget, or generate a larger pool",
            )
        finite = np.isfinite(self.weights).all() and (self.weights >= 0).all()
        total = float(self.weights.sum())
        wrong_sum = abs(total - 1) > WEIGHT_TOLERANCE
        if self.weights.shape != (n_rows,) or not finite or wrong_sum:
            raise InputError(
                f"weights have shape {self.weights.shape} and sum {total:.8g}"
                + ("" if finite else ", and some are negative or not finite"),
                where="class problem",
                allowed=f"({n_rows},) weights of at least 0 with sum 1",
                remedy="renormalise the weights within the class",
            )


class Part(NamedTuple):
    """One class of a problem, or all of it."""

    problem: ClassProblem
    pool_rows: Int64  # its candidates
    mass: float  # its share of the corpus weight


@dataclass(frozen=True)
class SelectionProblem:
    """A corpus with weights, a pool, and how many candidates of each class to choose."""

    corpus: LabelledRows
    weights: Float64  # (N,) ≥ 0, sum 1
    pool: LabelledRows
    budgets: tuple[int, ...]  # by class; a class may have none
    unseen: Int64  # corpus rows the language model was not trained on: exam rows come from here
    scope: Scope = "class"
    previous: Int64 | None = None  # pool rows chosen before, to begin from
    related: RelatedRows | None = None  # which corpus rows stay on one side of a split

    @cached_property
    def relations(self) -> RelatedRows:
        """Which corpus rows stay on one side of a split."""
        return self.related or RelatedRows(list(zip(*self.corpus.texts, strict=True)))

    @cached_property
    def pool_features(self) -> Float32:
        """φ of all candidates, (M, d)."""
        return self.pool.phi.read(0, len(self.pool))

    def groups(self, settings: SelectionSettings) -> RowGroups | None:
        """The groups within which a prior coupling keeps the corpus rows; None without one."""
        return row_groups(self.corpus, self.weights, self.scope, settings.coupling, settings.seed)

    def figures(self, rows: Int64, settings: SelectionSettings) -> dict[str, float]:
        """How well the chosen pool rows keep the groups of a prior coupling; empty without one."""
        groups = self.groups(settings)
        if groups is None:
            return {}
        return mass_within(self.corpus, self.weights, self.pool.take(rows), self.scope, groups)

    def parts(self, groups: RowGroups | None = None) -> list[Part]:
        """One problem per class with a budget above 0, with the weights renormalised within it.

        Global: one problem of everything, in which classes compete for the budget. With `groups`,
        each has its prior coupling.

        >>> from take.rows.blocks import ArrayBlocks
        >>> rows = ArrayBlocks(np.eye(4, dtype=np.float32))
        >>> table = LabelledRows(rows, [["a", "b", "c", "d"]], np.array([0, 0, 1, 1]))
        >>> weights = np.array([0.125, 0.375, 0.25, 0.25])
        >>> problem = SelectionProblem(table, weights, table, (1, 2), unseen=np.arange(4))
        >>> [part.problem.weights.tolist() for part in problem.parts()]
        [[0.25, 0.75], [0.5, 0.5]]
        >>> problem.parts()[1].pool_rows.tolist()
        [2, 3]
        """
        if self.scope == "global":
            everything = np.arange(len(self.corpus)), np.arange(len(self.pool))
            return [self._part("the whole pool", *everything, sum(self.budgets), groups)]
        return [
            self._part(
                f"class {label}",
                np.flatnonzero(self.corpus.labels == label),
                np.flatnonzero(self.pool.labels == label),
                budget,
                groups,
            )
            for label, budget in enumerate(self.budgets)
            if budget
        ]

    def _part(
        self,
        name: str,
        members: Int64,
        candidates: Int64,
        budget: int,
        groups: RowGroups | None,
    ) -> Part:
        mass = float(self.weights[members].sum())
        if not mass > 0 or len(candidates) < budget:
            raise InputError(
                f"the corpus weight is {mass:.6g} and there are {len(candidates)} candidates",
                where=name,
                allowed=f"a weight above 0 and at least {budget} candidates (its budget)",
                remedy="lower the budget, or generate a larger pool",
            )
        corpus = rows_at(self.corpus.phi, members)
        weights = self.weights[members] / mass
        previous = None
        if self.previous is not None:
            previous = np.flatnonzero(np.isin(candidates, self.previous))
        pool = self.pool_features[candidates]
        coupling = groups.couple(members, corpus, weights, pool) if groups else None
        problem = ClassProblem(corpus, weights, pool, budget, previous, coupling)
        return Part(problem, candidates, mass)


def selection_weights(weights: Float64, labels: Int64, settings: SelectionSettings) -> Float64:
    """w^α, normalised within each class, and the classes at their mass.

    κ is higher in easy classes. Without this, selection would turn towards them.

    >>> w, labels = np.array([0.6, 0.2, 0.2]), np.array([0, 0, 1])
    >>> selection_weights(w, labels, SelectionSettings()).round(3).tolist()
    [0.375, 0.125, 0.5]
    >>> selection_weights(w, labels, SelectionSettings(class_mass="corpus")).round(3).tolist()
    [0.5, 0.167, 0.333]
    """
    w = tempered(weights, settings.tempering)
    if settings.class_mass == "weights":
        return w
    rows = np.bincount(labels).astype(np.float64)
    return with_class_mass(w, labels, rows if settings.class_mass == "corpus" else np.sign(rows))


def with_class_mass(weights: Float64, labels: Int64, mass: Float64) -> Float64:
    """The weights with each class scaled to its share of the mass; sum 1.

    A class without weight keeps none, and the others take its share. If all rows are without
    weight, they count equally.

    >>> with_class_mass(np.array([0.6, 0.2, 0.2]), np.array([0, 0, 1]), np.ones(2)).tolist()
    [0.375, 0.125, 0.5]
    """
    if not weights.any():
        weights = np.ones(len(weights))
    found = np.bincount(labels, weights, minlength=len(mass))
    scale = np.divide(mass, found, out=np.zeros(len(mass)), where=found > 0)
    scaled = weights * scale[labels]
    shares: Float64 = scaled / scaled.sum()
    return shares


def tempered(weights: Float64, alpha: float) -> Float64:
    """w_n^α / Σ w^α: α = 1 leaves κ as it is, α = 0 gives equal weights.

    >>> tempered(np.array([0.0, 0.2, 0.8]), 0.5).round(3).tolist()
    [0.0, 0.333, 0.667]
    >>> tempered(np.array([0.0, 1.0]), 0.0).tolist()
    [0.5, 0.5]
    """
    powered = weights**alpha  # 0⁰ is 1
    shares: Float64 = powered / powered.sum()
    return shares


@dataclass(frozen=True)
class Selected:
    """What was chosen for one class."""

    rows: Int64  # K_c candidates within the class, in order of choice
    diagnostics: dict[str, float]
    path: Int64 | None = None  # a nested choice: its first k rows are a choice of size k


@dataclass(frozen=True)
class Selection:
    """What a selector chose."""

    rows: Int64  # (K,) rows of the pool, class by class, in order of choice
    diagnostics: dict[str, float]
    steps: tuple[dict[str, float], ...] = ()  # the steps of a search
    paths: tuple[Int64, ...] = ()  # nested choices of pool rows, class by class
    playoff: Playoff | None = None  # between several searches


class Selector(Protocol):
    """A way to choose candidates."""

    def __call__(
        self, problem: SelectionProblem, settings: SelectionSettings, work: Path | None = None
    ) -> Selection:
        """Distinct candidates, the same for the same problem and settings.

        `work` is a folder in which a long search may save its state.
        """
        ...


ClassSelector = Callable[[ClassProblem, SelectionSettings, int], Selected]
"""Distinct candidates of one class, the same for the same problem, settings and seed."""


class EachClass:
    """A `ClassSelector` as a `Selector`: class by class, diagnostics averaged by mass."""

    def __init__(
        self, choose: ClassSelector, *, can_begin: bool = False, coupled: bool = True
    ) -> None:
        self._choose, self._can_begin, self._coupled = choose, can_begin, coupled

    def __call__(
        self, problem: SelectionProblem, settings: SelectionSettings, work: Path | None = None
    ) -> Selection:
        """The chosen rows of all classes."""
        if problem.previous is not None and not self._can_begin:
            raise InputError(
                f"{settings.selector!r} cannot begin from rows chosen before",
                where="distillation.selection.selector",
                allowed="exam or facility, to distil again",
                remedy="choose one of them, or distil from the beginning",
            )
        rows, figures, masses, paths = [], [], [], []
        groups = problem.groups(settings) if self._coupled else None
        for part in problem.parts(groups):
            found = self._choose(part.problem, settings, settings.seed)
            rows.append(part.pool_rows[found.rows])
            figures.append(found.diagnostics)
            if found.path is not None:
                paths.append(part.pool_rows[found.path])
            masses.append(part.mass)
        shares = np.array(masses) / np.sum(masses)
        means = {
            name: float(shares @ np.array([figure[name] for figure in figures]))
            for name in figures[0]
        }
        return Selection(np.concatenate(rows), means, paths=tuple(paths))
