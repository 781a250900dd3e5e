"""The evaluation split, sealed: it can be asked of a taught model, and of nothing else."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from take.errors import InputError
from take.evaluation.metrics import Scores, scores
from take.learners.base import Model, Texts
from take.rows.arrays import Int64
from take.rows.random import rng

_SUBSET_SEED = 0  # the same rows for every cell: methods are compared on one set of questions


@dataclass(frozen=True)
class Marks:
    """What a model got right."""

    scores: Scores
    predicted: Int64  # (asked,) labels
    rows: NDArray[np.int64]  # (asked,) rows of the split


@dataclass(frozen=True, eq=False)
class SealedSplit:
    """Texts and labels that stay inside: out come the marks of a model that has been taught.

    >>> split = SealedSplit(Texts.of(["good", "bad"]), np.array([1, 0]), n_classes=2)
    >>> class Optimist(Model):
    ...     def logits(self, texts):
    ...         return np.tile([0.0, 1.0], (len(texts), 1))
    >>> split.ask(Optimist()).scores.accuracy
    0.5
    """

    _texts: Texts
    _labels: Int64
    n_classes: int
    _subsets: dict[int, tuple[NDArray[np.int64], Texts]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(self._labels) != len(self._texts) or not len(self._labels):
            raise InputError(
                f"{len(self._texts)} texts and {len(self._labels)} labels",
                where="evaluation split",
                allowed="one row or more, a label for each",
            )

    def __len__(self) -> int:
        return len(self._labels)

    @cached_property
    def identity(self) -> str:
        """A digest by which stored cells are told apart."""
        digest = hashlib.sha256(self._labels.astype(np.int64).tobytes())
        for column in self._texts.columns:
            digest.update("\x00".join(column).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    def asked_rows(self, most: int | None) -> int:
        """How many rows a model is asked if it is to be asked at most so many."""
        return len(self) if most is None else min(most, len(self))

    def ask(self, model: Model, most: int | None = None) -> Marks:
        """The model's marks on all rows, or on the same `most` rows for every model."""
        rows, texts = self._questions(self.asked_rows(most))
        predicted = model.predict(texts)
        return Marks(scores(self._labels[rows], predicted, self.n_classes), predicted, rows)

    def _questions(self, count: int) -> tuple[NDArray[np.int64], Texts]:
        if count == len(self):
            return np.arange(count), self._texts
        if count not in self._subsets:
            # One object each: what learners remember of texts, they remember by object.
            rows = rng(_SUBSET_SEED, "evaluation subset").permutation(len(self))[:count]
            rows.sort()
            columns = ([column[row] for row in rows] for column in self._texts.columns)
            self._subsets[count] = rows, Texts.of(*columns)
        return self._subsets[count]
