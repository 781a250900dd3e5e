"""What a method is given, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np

from take.errors import InputError
from take.evaluation.methods.digests import digest_of, parts_of
from take.rows.arrays import Float64, Int64
from take.rows.blocks import ArrayBlocks, RowBlocks, rows_at
from take.rows.labelled import LabelledRows, Task

if TYPE_CHECKING:
    from take.evaluation.methods.copies import EvaluationCopies
    from take.evaluation.methods.settings import BaselineSettings

Source = Literal["corpus", "pool", "unfiltered", "made"]


@dataclass(frozen=True)
class Material:
    """A corpus, its weights and its pool, and how many rows of each class to make of them.

    >>> from take.rows.blocks import ArrayBlocks
    >>> phi = ArrayBlocks(np.eye(3, dtype=np.float32))
    >>> corpus = LabelledRows(phi, [["dull", "fine", "grand"]], np.array([0, 1, 1]))
    >>> Material("films", corpus, np.full(3, 1 / 3), ("bad", "good"), (2, 1))
    Traceback (most recent call last):
    take.errors.InputError: corpus films, class 'bad': the budget is 2. Allowed: 0 … 1 (its rows)...
    """

    name: str  # the corpus's
    corpus: LabelledRows
    weights: Float64  # (N,) κ: ≥ 0, sum 1
    class_names: tuple[str, ...]  # by label
    budgets: tuple[int, ...]  # by label
    pool: LabelledRows | None = None
    unseen: Int64 | None = None  # corpus rows that no candidate was learnt from: `exam` asks them
    evaluation: EvaluationCopies | None = None  # says what copies the split, and nothing else of it
    work: Path | None = None  # folder in which a long search may keep what it has so far
    # What some methods ask for, and most do not. Called for each set: who gives them keeps them.
    kernel_weights: Callable[[str], Float64] | None = None  # κ by another temporal kernel's name
    unfiltered: Callable[[], LabelledRows] | None = None  # the pool before the label filter
    distilled: TrainingSet | None = None  # what a run has distilled
    variants: str = ""  # a digest of what the callables go by

    def __post_init__(self) -> None:
        if len(self.budgets) != len(self.class_names) or self.weights.shape != (len(self.corpus),):
            raise InputError(
                f"there are {len(self.budgets)} budgets and {self.weights.size} weights",
                where=f"corpus {self.name}",
                allowed=f"one for each of {len(self.class_names)} classes and "
                f"{len(self.corpus)} rows",
                remedy="take all of them from the same corpus",
            )
        sizes = np.bincount(self.corpus.labels, minlength=len(self.class_names))
        for name, size, budget in zip(self.class_names, sizes, self.budgets, strict=True):
            if not 0 <= budget <= size:
                raise InputError(
                    f"the budget is {budget}",
                    where=f"corpus {self.name}, class {name!r}",
                    allowed=f"0 … {size} (its rows)",
                    remedy="lower the budget",
                )

    @property
    def task(self) -> Task:
        """Whether rows are single texts or pairs."""
        return "single" if len(self.corpus.texts) == 1 else "pair"

    @cached_property
    def identity(self) -> str:
        """SHA-256 of all that decides training sets but the settings and the seed.

        The callables count by `variants`. `evaluation` does not count: it only refuses.
        """
        kept = ["none"] if self.distilled is None else [self.distilled.digest]
        unseen = np.full(1, -1) if self.unseen is None else self.unseen
        return digest_of(
            [
                [self.name, *self.class_names, self.variants],
                np.array(self.budgets),
                self.weights,
                unseen,
                kept,
                *parts_of(self.corpus),
                *parts_of(self.pool),
            ]
        )

    def members(self, label: int) -> Int64:
        """The corpus rows of a class."""
        return np.flatnonzero(self.corpus.labels == label)

    def vectors(self, members: Int64, memory_bytes: int) -> RowBlocks:
        """φ of some corpus rows, in memory where that much allows it: a method reads them often."""
        rows = rows_at(self.corpus.phi, members)
        n_rows, n_features = rows.shape
        fits = n_rows * n_features * np.dtype(np.float32).itemsize <= memory_bytes
        return ArrayBlocks(rows.read(0, n_rows)) if fits else rows


@dataclass(frozen=True)
class TrainingSet:
    """Labelled rows to train on."""

    texts: list[list[str]]  # one column, or two for pairs
    labels: Int64  # (K,)
    weights: Float64  # (K,) ≥ 0, mean 1
    source: Source = "made"
    rows: Int64 | None = None  # where they stand in their source; None where texts are new

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of texts, labels and weights, in order: equal for what teaches the same.

        >>> rows = [["dull", "grand"]], np.array([0, 1])
        >>> a, b = (TrainingSet(*rows, weights=np.full(2, w)) for w in (1.0, 2.0))
        >>> a.digest == b.digest
        False
        """
        return digest_of([*self.texts, self.labels, self.weights])


class Method(Protocol):
    """A way to make a training set."""

    def __call__(self, material: Material, settings: BaselineSettings, seed: int) -> TrainingSet:
        """The same rows for the same material, settings and seed."""
        ...


def taken_rows(table: LabelledRows, rows: Int64, source: Source) -> TrainingSet:
    """Some rows of the corpus or the pool as they are, each with weight 1.

    >>> from take.rows.blocks import ArrayBlocks
    >>> phi = ArrayBlocks(np.eye(3, dtype=np.float32))
    >>> corpus = LabelledRows(phi, [["dull", "fine", "grand"]], np.array([0, 1, 1]))
    >>> taken_rows(corpus, np.array([2, 0]), "corpus").texts
    [['grand', 'dull']]
    """
    texts = [[column[row] for row in rows] for column in table.texts]
    return TrainingSet(texts, table.labels[rows], np.ones(len(rows)), source, rows)
