"""Rows that are refused, and what is kept of texts."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from take.errors import InputError
from take.learners import Texts, TrainingRows
from take.learners.base import Remembered

TEXTS = Texts.of(["one", "two", "three"])


@pytest.mark.parametrize(
    ("texts", "labels", "weights", "message"),
    [
        (Texts.of([]), [], None, "0 texts"),
        (TEXTS, [0, 1], None, "labels of shape (2,)"),
        (TEXTS, [0, 1, 2], None, "row 2: label 2. Allowed: whole numbers 0 … 1"),
        (TEXTS, [0, -1, 1], None, "row 1: label -1"),
        (TEXTS, [0.0, 0.5, 1.0], None, "whole numbers"),
        (Texts.of(["a", "\n"]), [0, 1], None, "row 1: blank text"),
        (Texts.of(["a", "b"], ["c", ""]), [0, 1], None, "row 1: blank text"),
        (TEXTS, [0, 1, 1], [1.0, 0.0, 1.0], "not above 0"),
        (TEXTS, [0, 1, 1], [1.0, np.nan, 1.0], "not above 0"),
        (TEXTS, [0, 1, 1], [1.0, 1.0], "shape (2,)"),
    ],
)
def test_bad_rows_are_refused_by_place(texts, labels, weights, message) -> None:
    weights = None if weights is None else np.array(weights)
    with pytest.raises(InputError) as refused:
        TrainingRows(texts, np.array(labels), 2, weights)
    assert message in str(refused.value)


def test_columns_of_unequal_length_are_refused() -> None:
    with pytest.raises(InputError, match=r"\[2, 1\]"):
        Texts.of(["a", "b"], ["c"])


def test_missing_classes_are_counted() -> None:
    assert TrainingRows(TEXTS, np.array([0, 3, 3]), 5).missing_classes == (1, 2, 4)


def test_weights_are_relative() -> None:
    rows = TrainingRows(TEXTS, np.array([0, 1, 1]), 2, np.array([1.0, 2.0, 3.0]))
    assert rows.relative_weights.tolist() == [0.5, 1.0, 1.5]


def test_cached_values_are_freed_with_their_texts() -> None:
    computed = []
    remembered = Remembered(lambda texts: computed.append(len(texts)) or len(texts))
    texts = Texts.of(["a"])
    assert remembered(texts) == remembered(texts) == 1
    assert computed == [1]
    # Equal texts are other texts: to compare them would cost what is to be saved.
    remembered(Texts.of(["a"]))
    assert computed == [1, 1]
    del texts
    gc.collect()
    assert len(remembered._kept) == 0
