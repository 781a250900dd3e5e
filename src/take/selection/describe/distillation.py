"""A weighted corpus, a pool and the rows chosen from it: what the description is about."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, get_args

import numpy as np

from take.errors import InputError
from take.rows.arrays import Float32, Float64, Int64
from take.rows.blocks import RowBlocks, squared_norms
from take.rows.nearest import Nearest, nearest_by_class
from take.selection.selection_settings import Scope

_SUM_TOLERANCE = 1e-6
_NORM_TOLERANCE = 1e-2  # of ‖φ‖ from 1; far more than fp16 features need


class Part(NamedTuple):
    """Corpus rows, and the positions in the choice of the rows they may be assigned to."""

    rows: Int64
    targets: Int64
    stray: bool = False


class Covered(NamedTuple):
    """The distilled row nearest to each corpus row; distance infinity and row −1 if none."""

    any_class: Nearest
    own_class: Nearest
    allowed: Nearest
    """By the scope: any class if global; otherwise its own, or any where its own has none."""


@dataclass(frozen=True)
class Distillation:
    """A weighted corpus, a pool and the rows chosen from it; refused if they do not fit together.

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
            refuse(shape != expected, name, f"shape is {shape}", f"{expected}")
        refuse(self.scope not in get_args(Scope), "scope", repr(self.scope), str(get_args(Scope)))
        K, distinct = len(self.chosen), len(np.unique(self.chosen))
        inside = K > 0 and 0 <= self.chosen.min() <= self.chosen.max() < n_pool
        refuse(
            not inside or distinct < K,
            "chosen",
            f"{K} rows, {distinct} of them different",
            f"one row of 0 … {n_pool - 1} or more, each once",
        )
        sound = np.isfinite(self.weights).all() and (self.weights >= 0).all()
        total = float(self.weights.sum())
        refuse(
            not sound or abs(total - 1) > _SUM_TOLERANCE,
            "weights",
            f"the sum is {total:.8g}" + ("" if sound else ", some are negative or not finite"),
            "weights of at least 0 with sum 1 over the whole corpus",
        )
        for name, rows in (("pool", self.pool), ("corpus", self.corpus.read(0, min(n_rows, 1024)))):
            off = float(np.abs(np.sqrt(squared_norms(rows)) - 1).max())
            refuse(not off <= _NORM_TOLERANCE, name, f"‖φ‖ is off by {off:.3g}", "‖φ‖ = 1")

    @cached_property
    def targets(self) -> Float32:
        """φ of the distilled rows, (K, d)."""
        return self.pool[self.chosen]

    @cached_property
    def target_labels(self) -> Int64:
        """Their labels, (K,)."""
        return self.pool_labels[self.chosen]

    @property
    def rows_per_part(self) -> int:
        """Rows of the class with most, or all rows where classes compete."""
        counts = np.bincount(self.target_labels)
        return int(counts.sum() if self.scope == "global" else counts.max())

    def parts(self) -> Iterator[Part]:
        """Which rows may be assigned to which. Every corpus row is in exactly one part.

        Rows of a class without a distilled row are *strays*: they may be assigned to any row.
        """
        everything = np.arange(len(self.chosen))
        if self.scope == "global":
            yield Part(np.arange(len(self.labels)), everything)
            return
        covered_labels = np.unique(self.target_labels)
        for label in covered_labels:
            members = np.flatnonzero(self.labels == label)
            if len(members):
                yield Part(members, np.flatnonzero(self.target_labels == label))
        strays = np.flatnonzero(~np.isin(self.labels, covered_labels))
        if len(strays):
            yield Part(strays, everything, stray=True)

    def cover(self, chosen: Int64 | None = None) -> Covered:
        """How the whole corpus is covered by the distilled rows, or by another choice."""
        chosen = self.chosen if chosen is None else chosen
        return nearest_allowed(
            self.corpus, self.labels, self.pool[chosen], self.pool_labels[chosen], self.scope
        )


def nearest_allowed(
    corpus: RowBlocks, labels: Int64, targets: Float32, target_labels: Int64, scope: Scope
) -> Covered:
    """min_c ‖φ(z_n) − φ(z̃_c)‖ and its c: over any class, over the row's own, and as allowed.

    >>> from take.rows.blocks import ArrayBlocks
    >>> rows, labels = ArrayBlocks(np.eye(3, dtype=np.float32)), np.array([0, 1, 2])
    >>> targets = np.array([[0, 0.8, 0.6], [1, 0, 0]], dtype=np.float32)
    >>> found = nearest_allowed(rows, labels, targets, np.array([0, 1]), "class")
    >>> found.allowed.row.tolist()  # class 2 has none
    [0, 1, 0]
    """
    found = nearest_by_class(corpus, labels, targets, target_labels)
    allowed = found.any_class
    if scope == "class":
        own, has = found.own_class, found.own_class.row >= 0
        allowed = Nearest(
            np.where(has, own.distance, allowed.distance), np.where(has, own.row, allowed.row)
        )
    return Covered(found.any_class, found.own_class, allowed)


def refuse(bad: bool, where: str, problem: str, allowed: str) -> None:
    """Raise an `InputError` about the parts of a distillation if `bad`."""
    if bad:
        remedy = "give corpus, weights, pool and choice of one run, and allowed settings"
        raise InputError(problem, where=where, allowed=allowed, remedy=remedy)
