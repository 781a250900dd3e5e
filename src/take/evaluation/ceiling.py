"""The ends of the scale: training on all rows to convergence, and a constant prediction."""

from __future__ import annotations

import numpy as np

from take.evaluation.methods.material import Material
from take.learners import Model, Texts, TrainingRows
from take.rows.arrays import Float64, Int64
from take.rows.random import rng
from take.text.related import RelatedRows

_LARGEST_SHARE, _MOST_ROWS = 0.1, 500
"""Validation rows: of a class, and of all. Each costs its relatives, which cannot be trained on."""


def ceiling_rows(
    rows: TrainingRows, material: Material, seed: int
) -> tuple[TrainingRows, TrainingRows]:
    """The rows of the corpus to train on, and those of its validation part to stop on.

    The validation part is drawn at random from each class. No row that is trained on contains one
    of it, lies in one, or nearly repeats one (`RelatedRows`); rows that very many others contain
    are trained on.
    """
    related = material.related or RelatedRows(list(zip(*rows.texts.columns, strict=True)))
    share = min(_LARGEST_SHARE, _MOST_ROWS / len(rows))
    drawn = [np.empty(0, dtype=np.int64)]
    for label in range(rows.n_classes):
        members = np.flatnonzero((rows.labels == label) & ~related.common)
        order = rng(seed, "validation rows of a ceiling", label).permutation(members)
        drawn.append(order[: int(share * len(members))])
    validation = np.sort(np.concatenate(drawn))
    return _taken(rows, np.flatnonzero(~related.to(validation))), _taken(rows, validation)


def _taken(rows: TrainingRows, index: Int64) -> TrainingRows:
    columns = ([column[row] for row in index] for column in rows.texts.columns)
    weights = None if rows.weights is None else rows.weights[index]
    return TrainingRows(Texts.of(*columns), rows.labels[index], rows.n_classes, weights)


class OneClass(Model):
    """What any learner is that was trained on rows of one class: it predicts that class.

    >>> model = OneClass(TrainingRows(Texts.of(["dull"]), np.array([1]), n_classes=3))
    >>> model.predict(Texts.of(["grand", "fine"])).tolist()
    [1, 1]
    """

    def __init__(self, rows: TrainingRows) -> None:
        self._logits = np.full(rows.n_classes, -np.inf)
        self._logits[rows.labels[0]] = 0.0

    def logits(self, texts: Texts) -> Float64:
        """0 for its class, −∞ for the others."""
        return np.tile(self._logits, (len(texts), 1))
