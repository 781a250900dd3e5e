"""The evaluation split, sealed: it returns the scores of trained models; in the end, its labels."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from take.errors import InputError
from take.learners.base import Model, Texts
from take.rows.arrays import Int64
from take.rows.random import rng

_SUBSET_SEED = 0  # the same rows for every cell: methods are compared on the same rows


@dataclass(frozen=True)
class Scores:
    """The scores of one trained model on the evaluation split, each from 0 to 1."""

    accuracy: float
    macro_f1: float
    accuracy_f1: float | None  # (accuracy + F1 of class 1) / 2; of two-class tasks only


@dataclass(frozen=True)
class Evaluation:
    """The scores and predictions of a model."""

    scores: Scores
    predicted: Int64  # (n,) labels
    rows: Int64  # (n,) rows of the split


@dataclass(frozen=True, eq=False)
class SealedSplit:
    """Texts that stay inside; scores of trained models come out, and labels after the last of them.

    >>> split = SealedSplit(Texts.of(["good", "bad"]), np.array([1, 0]), n_classes=2)
    >>> class Optimist(Model):
    ...     def logits(self, texts):
    ...         return np.tile([0.0, 1.0], (len(texts), 1))
    >>> split.evaluate(Optimist()).scores.accuracy
    0.5
    """

    _texts: Texts
    _labels: Int64
    n_classes: int
    _subsets: dict[int, Texts] = field(default_factory=dict)

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
        """A digest of texts and labels, part of the fingerprint of cells."""
        digest = hashlib.sha256(self._labels.astype(np.int64).tobytes())
        for column in self._texts.columns:
            digest.update("\x00".join(column).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    def rows(self, most: int | None = None) -> Int64:
        """Which rows a model is evaluated on, if at most so many."""
        return evaluation_rows(len(self), most)

    def evaluate(self, model: Model, most: int | None = None) -> Evaluation:
        """The model's scores on all rows, or on the same `most` rows for every model."""
        rows = self.rows(most)
        predicted = model.predict(self._texts_of(rows))
        found = scores(self._labels[rows], predicted, self.n_classes)
        return Evaluation(found, predicted, rows)

    def labels(self, most: int | None = None) -> Int64:
        """The true labels of these rows, for errors over rows: only after every model is scored."""
        return self._labels[self.rows(most)]

    def _texts_of(self, rows: Int64) -> Texts:
        if len(rows) == len(self):
            return self._texts
        if len(rows) not in self._subsets:
            # One object each, because learners cache by object what they compute of texts.
            columns = ([column[row] for row in rows] for column in self._texts.columns)
            self._subsets[len(rows)] = Texts.of(*columns)
        return self._subsets[len(rows)]


def evaluation_rows(n_rows: int, most: int | None = None) -> Int64:
    """The rows of a split of `n_rows` that a model is evaluated on, if at most so many; sorted.

    >>> evaluation_rows(3).tolist(), evaluation_rows(3, 5).tolist(), len(evaluation_rows(30, 5))
    ([0, 1, 2], [0, 1, 2], 5)
    """
    if most is None or most >= n_rows:
        return np.arange(n_rows)
    return np.sort(rng(_SUBSET_SEED, "evaluation subset").permutation(n_rows)[:most])


def scores(labels: Int64, predicted: Int64, n_classes: int) -> Scores:
    """Accuracy; macro F1 over the classes that occur or are predicted; their mean for GLUE's pairs.

    >>> found = scores(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1]), n_classes=2)
    >>> found.accuracy, round(found.macro_f1, 4), found.accuracy_f1
    (0.75, 0.7333, 0.775)
    """
    from sklearn.metrics import f1_score

    _check(labels, predicted, n_classes)
    accuracy = float((labels == predicted).mean())
    macro = float(f1_score(labels, predicted, average="macro", zero_division=0))
    both = None
    if n_classes == 2:
        both = (accuracy + float(f1_score(labels, predicted, zero_division=0))) / 2
    return Scores(accuracy, macro, both)


def _check(labels: Int64, predicted: Int64, n_classes: int) -> None:
    if labels.shape != predicted.shape or not labels.size:
        raise InputError(
            f"there are {predicted.size} predictions for {labels.size} rows",
            where="scores",
            allowed="one for each row, and one row or more",
            remedy="predict exactly the rows that are scored",
        )
    smallest = min(int(labels.min()), int(predicted.min()))
    largest = max(int(labels.max()), int(predicted.max()))
    if smallest < 0 or largest >= n_classes:
        raise InputError(
            f"labels or predictions run from {smallest} to {largest}",
            where="scores",
            allowed=f"0 … {n_classes - 1}",
            remedy="use the corpus's own label ids",
        )
