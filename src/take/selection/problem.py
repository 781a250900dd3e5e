"""What a selector is given, and what it gives back.

A selector sees one class at a time (or everything at once, for global selection): the corpus rows
of that class with their weights, the candidates of that class, and how many to choose.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from take.blocks import Float32, RowBlocks
from take.encoder.embeddings import Embeddings
from take.errors import InputError

if TYPE_CHECKING:
    from take.selection.settings import SelectionSettings

Float64 = NDArray[np.float64]
Indices = NDArray[np.int64]
WEIGHT_TOLERANCE = 1e-6


class SelectionWarning(UserWarning):
    """A selection that was made but should not be trusted blindly."""


def rows_at(rows: RowBlocks, index: Indices) -> RowBlocks:
    """Some rows, by number and in any order, as a `RowBlocks` of their own.

    >>> from take.blocks import ArrayBlocks
    >>> rows = ArrayBlocks(np.arange(5, dtype=np.float32)[:, None])
    >>> rows_at(rows, np.array([4, 0, 3])).read(1, 3).tolist()
    [[0.0], [3.0]]
    """
    n_rows, index = rows.shape[0], np.asarray(index, dtype=np.int64)
    if len(index) and not 0 <= index.min() <= index.max() < n_rows:
        raise InputError(
            f"row numbers run from {index.min()} to {index.max()}",
            where="subset of rows",
            allowed=f"0 … {n_rows - 1}",
            remedy="build the row numbers from this very corpus",
        )
    # Embeddings point at their strings, so a subset of them is another set of pointers.
    if isinstance(rows, Embeddings):
        return Embeddings(rows.strings, rows.rows[index])
    return SubsetBlocks(rows, index)


class SubsetBlocks:
    """Some rows of a `RowBlocks`, read through it: neighbours in one go, gaps left out.

    >>> from take.blocks import ArrayBlocks
    >>> rows = ArrayBlocks(np.arange(5, dtype=np.float32)[:, None])
    >>> SubsetBlocks(rows, np.array([0, 3, 4])).read(1, 3).tolist()
    [[3.0], [4.0]]
    """

    # To read a gap of a few unwanted rows costs less than another call.
    _BRIDGED_ROWS = 8

    def __init__(self, rows: RowBlocks, index: Indices) -> None:
        self._rows = rows
        self._index = index

    @property
    def shape(self) -> tuple[int, int]:
        """(number of chosen rows, d)."""
        return len(self._index), self._rows.shape[1]

    def read(self, start: int, stop: int) -> Float32:
        """Chosen rows start … stop-1."""
        wanted = self._index[start:stop]
        block = np.empty((len(wanted), self._rows.shape[1]), dtype=np.float32)
        order = np.argsort(wanted, kind="stable")
        ascending = wanted[order]
        gaps = np.flatnonzero(np.diff(ascending) > self._BRIDGED_ROWS) + 1
        bounds = [0, *gaps.tolist(), len(wanted)]
        for begin, end in pairwise(bounds if len(wanted) else []):
            first, last = int(ascending[begin]), int(ascending[end - 1])
            near = self._rows.read(first, last + 1)
            block[order[begin:end]] = near[ascending[begin:end] - first]
        return block


@dataclass(frozen=True)
class ClassProblem:
    """One class, or everything for global selection.

    >>> from take.blocks import ArrayBlocks
    >>> rows = np.eye(3, dtype=np.float32)
    >>> ClassProblem(ArrayBlocks(rows), np.full(3, 1 / 3), rows, budget=4)
    Traceback (most recent call last):
    take.errors.InputError: class problem: budget is 4. Allowed: 1 … 3 (the candidates)...
    """

    corpus: RowBlocks  # N_c rows of unit-norm φ, read by blocks
    weights: Float64  # (N_c,) ≥ 0, sum 1: κ weights renormalised within the class
    pool: Float32  # (M_c, d) unit-norm φ of candidates, in memory
    budget: int  # K_c ≤ M_c

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


@dataclass(frozen=True)
class SelectionProblem:
    """All classes of a corpus, and where their rows and candidates stand in the tables."""

    classes: tuple[ClassProblem, ...]
    pool_rows: tuple[Indices, ...]  # where each class's candidates stand in the pool table
    corpus_rows: tuple[Indices, ...]
    seed: int


@dataclass(frozen=True)
class Selected:
    """What a selector chose for one class."""

    rows: Indices  # K_c candidates within the class, in order of choice (nested where it is nested)
    diagnostics: dict[str, float]


class Selector(Protocol):
    """A way to choose `budget` candidates for one class."""

    def __call__(self, problem: ClassProblem, settings: SelectionSettings, seed: int) -> Selected:
        """Distinct candidates, the same for the same problem, settings and seed."""
        ...


def class_problems(
    corpus: RowBlocks,
    weights: Float64,
    labels: Indices,
    pool: Float32,
    pool_labels: Indices,
    budgets: Sequence[int],
    seed: int,
) -> SelectionProblem:
    """One problem per class with a budget above 0, with the weights renormalised within it.

    >>> from take.blocks import ArrayBlocks
    >>> rows = np.eye(4, dtype=np.float32)
    >>> weights, labels = np.array([0.125, 0.375, 0.25, 0.25]), np.array([0, 0, 1, 1])
    >>> problem = class_problems(ArrayBlocks(rows), weights, labels, rows, labels, [1, 2], seed=0)
    >>> [part.weights.tolist() for part in problem.classes]
    [[0.25, 0.75], [0.5, 0.5]]
    >>> problem.pool_rows[1].tolist()
    [2, 3]
    """
    classes, pool_rows, corpus_rows = [], [], []
    for label, budget in enumerate(budgets):
        if budget == 0:
            continue
        members, candidates = np.flatnonzero(labels == label), np.flatnonzero(pool_labels == label)
        mass = float(weights[members].sum())
        if not mass > 0 or len(candidates) < budget:
            raise InputError(
                f"the corpus weight is {mass:.6g} and there are {len(candidates)} candidates",
                where=f"class {label}",
                allowed=f"a weight above 0 and at least {budget} candidates (its budget)",
                remedy="lower the budget, or generate a larger pool",
            )
        part = rows_at(corpus, members)
        classes.append(ClassProblem(part, weights[members] / mass, pool[candidates], budget))
        pool_rows.append(candidates)
        corpus_rows.append(members)
    return SelectionProblem(tuple(classes), tuple(pool_rows), tuple(corpus_rows), seed)


def global_problem(
    corpus: RowBlocks, weights: Float64, pool: Float32, budget: int, seed: int
) -> SelectionProblem:
    """Everything as one problem: classes compete for the budget."""
    whole = ClassProblem(corpus, weights / weights.sum(), pool, budget)
    rows = (np.arange(len(pool)), np.arange(corpus.shape[0]))
    return SelectionProblem((whole,), (rows[0],), (rows[1],), seed)
