"""How right predictions are: accuracy, F1, and the mean of both that paraphrase tasks report."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from take.errors import InputError
from take.rows.arrays import Float64, Int64


@dataclass(frozen=True)
class Scores:
    """What one trained learner reached on the evaluation split, each from 0 to 1."""

    accuracy: float
    macro_f1: float
    accuracy_f1: float | None  # (accuracy + F1 of class 1) / 2; of two-class tasks only


def scores(labels: Int64, predicted: Int64, n_classes: int) -> Scores:
    """All scores of some predictions.

    >>> found = scores(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1]), n_classes=2)
    >>> found.accuracy, round(found.macro_f1, 4), found.accuracy_f1
    (0.75, 0.7333, 0.775)
    """
    _check(labels, predicted, n_classes)
    both = accuracy_f1(labels, predicted) if n_classes == 2 else None
    return Scores(accuracy(labels, predicted), macro_f1(labels, predicted, n_classes), both)


def accuracy(labels: Int64, predicted: Int64) -> float:
    """The share of rows whose label is predicted.

    >>> accuracy(np.array([0, 1, 1, 2]), np.array([0, 1, 0, 2]))
    0.75
    """
    return float((labels == predicted).mean())


def f1_by_class(labels: Int64, predicted: Int64, n_classes: int) -> Float64:
    """F1_c = 2 TP_c / (2 TP_c + FP_c + FN_c); 0 for a class that is never found.

    A class that neither occurs nor is predicted has no F1: it comes out as nan.

    >>> f1_by_class(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1]), 3).round(3).tolist()
    [0.667, 0.8, nan]
    """
    right = np.bincount(labels[labels == predicted], minlength=n_classes)
    both = np.bincount(labels, minlength=n_classes) + np.bincount(predicted, minlength=n_classes)
    with np.errstate(invalid="ignore"):
        f1: Float64 = 2 * right / both  # 2 TP + FP + FN is how often it occurs plus is predicted
    return f1


def macro_f1(labels: Int64, predicted: Int64, n_classes: int) -> float:
    """The mean of F1_c over the classes that occur or are predicted.

    >>> round(macro_f1(np.array([0, 0, 1, 1]), np.array([0, 0, 0, 0]), 2), 4)
    0.3333
    """
    return float(np.nanmean(f1_by_class(labels, predicted, n_classes)))


def accuracy_f1(labels: Int64, predicted: Int64) -> float:
    """(accuracy + F1_1) / 2, where class 1 is "paraphrase": GLUE's and DiLM's score of pairs.

    >>> accuracy_f1(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1]))
    0.775
    """
    f1 = float(f1_by_class(labels, predicted, 2)[1])
    return (accuracy(labels, predicted) + (0.0 if np.isnan(f1) else f1)) / 2


def _check(labels: Int64, predicted: Int64, n_classes: int) -> None:
    if labels.shape != predicted.shape or not labels.size:
        raise InputError(
            f"there are {predicted.size} predictions for {labels.size} rows",
            where="scores",
            allowed="one for each row, and one row or more",
            remedy="predict the very rows that are scored",
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
