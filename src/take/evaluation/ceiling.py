"""The upper end of the scale: the rows for training on a whole corpus to convergence."""

from __future__ import annotations

import numpy as np

from take.evaluation.methods.material import Material
from take.learners import Texts, TrainingRows
from take.rows.arrays import Int64
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
