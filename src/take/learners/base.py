"""The interface of learners: training rows in, a model out.

A learner is trained on a few labelled rows and nothing else. `Texts` are compared by identity: all
cells that predict the same rows share one object, so that tokenisation is done once (`Remembered`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from take.errors import InputError
from take.rows.arrays import Float64, Int64

if TYPE_CHECKING:
    from take.learners.convergence import Converged, ConvergenceSettings

Part = TypeVar("Part")


@dataclass(frozen=True, eq=False)
class Texts:
    """Rows of one text, or of two for pairs.

    >>> texts = Texts.of(["a film", "a plot"])
    >>> len(texts), texts.is_pair
    (2, False)
    """

    columns: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        lengths = [len(column) for column in self.columns]
        if len(lengths) not in (1, 2) or len(set(lengths)) != 1:
            raise InputError(
                f"texts have columns of {lengths} rows",
                allowed="one column, or two of equal length for pairs",
            )

    @classmethod
    def of(cls, *columns: Sequence[str]) -> Texts:
        """Texts of some columns."""
        return cls(tuple(map(tuple, columns)))

    @property
    def is_pair(self) -> bool:
        """Whether a row is two texts."""
        return len(self.columns) == 2

    def __len__(self) -> int:
        return len(self.columns[0])


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """The labelled rows that a learner is trained on; it sees nothing else of a corpus.

    A class without a row is allowed, and counted: small random sets have some.

    >>> rows = TrainingRows(Texts.of(["good", "fine"]), np.array([1, 1]), n_classes=3)
    >>> rows.missing_classes
    (0, 2)
    >>> TrainingRows(Texts.of(["good", " "]), np.array([1, 0]), n_classes=2)
    Traceback (most recent call last):
    take.errors.InputError: training rows, row 1: blank text. Fix: fill it or drop the row.
    """

    texts: Texts
    labels: Int64  # (n,) ids 0 … C−1
    n_classes: int
    weights: Float64 | None = None  # (n,) > 0: how much a row counts; None: all the same

    def __post_init__(self) -> None:
        n_rows = len(self.texts)
        if n_rows == 0 or self.labels.shape != (n_rows,) or self.n_classes < 2:
            raise InputError(
                f"{n_rows} texts, labels of shape {self.labels.shape}, {self.n_classes} classes",
                where="training rows",
                allowed="one row or more, a label for each, two classes or more",
            )
        for column in self.texts.columns:
            blank = next((row for row, text in enumerate(column) if not text.strip()), None)
            if blank is not None:
                raise InputError(
                    "blank text",
                    where=f"training rows, row {blank}",
                    remedy="fill it or drop the row",
                )
        whole = np.issubdtype(self.labels.dtype, np.integer)
        outside = np.flatnonzero((self.labels < 0) | (self.labels >= self.n_classes))
        if not whole or len(outside):
            row = int(outside[0]) if len(outside) else 0
            raise InputError(
                f"label {self.labels[row]}",
                where=f"training rows, row {row}",
                allowed=f"whole numbers 0 … {self.n_classes - 1}",
                remedy="use the label ids of the corpus",
            )
        weights = self.weights
        if weights is not None and not (
            weights.shape == (n_rows,) and np.isfinite(weights).all() and (weights > 0).all()
        ):
            raise InputError(
                f"weights of shape {weights.shape}, or some that are not above 0",
                where="training rows",
                allowed=f"({n_rows},) finite numbers above 0",
            )

    @classmethod
    def of(
        cls, texts: Sequence[Sequence[str]], labels: Int64, weights: Float64, n_classes: int
    ) -> TrainingRows:
        """The rows of columns of texts; rows of weight 0 are left out."""
        if np.all(weights == 1):
            # A copy, because torch warns about read-only labels of a table.
            return cls(Texts.of(*texts), labels.copy(), n_classes)
        counted = np.flatnonzero(weights > 0)
        columns = ([column[int(row)] for row in counted] for column in texts)
        return cls(Texts.of(*columns), labels[counted], n_classes, weights[counted])

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def missing_classes(self) -> tuple[int, ...]:
        """Classes without a row."""
        present = set(self.labels.tolist())
        return tuple(label for label in range(self.n_classes) if label not in present)

    @property
    def is_one_class(self) -> bool:
        """Whether all rows have the same label."""
        return len(self.missing_classes) == self.n_classes - 1

    @property
    def relative_weights(self) -> Float64:
        """How much each row counts, 1 on average."""
        if self.weights is None:
            return np.ones(len(self))
        relative: Float64 = self.weights / self.weights.mean()
        return relative


class Model(ABC):
    """A trained learner."""

    @abstractmethod
    def logits(self, texts: Texts) -> Float64:
        """(n, C); −∞ for classes that a model cannot predict because it saw none of their rows."""

    def predict(self, texts: Texts) -> Int64:
        """The likeliest class of each row."""
        predicted: Int64 = self.logits(texts).argmax(axis=1).astype(np.int64)
        return predicted


class OneClass(Model):
    """What any learner is that was trained on rows of one class: it predicts that class.

    >>> model = OneClass(TrainingRows(Texts.of(["dull"]), np.array([1]), n_classes=3))
    >>> model.predict(Texts.of(["grand", "fine"])).tolist()
    [1, 1]
    """

    def __init__(self, rows: TrainingRows) -> None:
        self._pairs = rows.texts.is_pair
        self._logits = np.full(rows.n_classes, -np.inf)
        self._logits[rows.labels[0]] = 0.0

    def logits(self, texts: Texts) -> Float64:
        """0 for its class, −∞ for the others."""
        check_same_task(texts, pairs=self._pairs)
        return np.tile(self._logits, (len(texts), 1))


class Learner(Protocol):
    """A way to train a model on a few rows."""

    @property
    def name(self) -> str:
        """Its name in the registry."""
        ...

    @property
    def title(self) -> str:
        """For people: features, and whose weights or vectors they are."""
        ...

    @property
    def identity(self) -> str:
        """A digest of settings, weights and vocabulary: all but rows, seed and updates."""
        ...

    def fit(self, rows: TrainingRows, seed: int, updates: int | None = None) -> Model:
        """A model trained on `rows` alone; the same for the same seed.

        `updates` is the number of optimiser steps, independent of the number of rows; None: as the
        settings say. Learners that are solved to their optimum ignore seed and updates.
        """
        ...

    def fit_to_convergence(
        self, rows: TrainingRows, validation: TrainingRows, seed: int, limits: ConvergenceSettings
    ) -> Converged:
        """A model trained on `rows` until `validation` gets no better: a learner's ceiling."""
        ...


class Remembered(Generic[Part]):
    """A function of `Texts` that is computed once for each, as long as the texts live.

    >>> lengths = Remembered(lambda texts: [len(text) for text in texts.columns[0]])
    >>> texts = Texts.of(["one", "three"])
    >>> lengths(texts), lengths(texts) is lengths(texts)
    ([3, 5], True)
    """

    def __init__(self, compute: Callable[[Texts], Part]) -> None:
        self._compute = compute
        self._kept: WeakKeyDictionary[Texts, Part] = WeakKeyDictionary()

    def __getstate__(self) -> dict[str, Any]:
        """Another process computes for itself."""
        return {"_compute": self._compute}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _kept=WeakKeyDictionary())

    def __call__(self, texts: Texts) -> Part:
        """What `compute` returns for the texts."""
        if texts not in self._kept:
            self._kept[texts] = self._compute(texts)
        return self._kept[texts]


def check_same_task(texts: Texts, *, pairs: bool) -> None:
    """Refuse to predict pairs with a model of single texts, or the other way round."""
    if texts.is_pair is not pairs:
        own, given = ("pairs", "single texts") if pairs else ("single texts", "pairs")
        raise InputError(f"a model that was trained on {own} cannot predict {given}")
