from __future__ import annotations

import numpy as np
import pytest

from take.errors import InputError
from take.evaluation.sealed_split import scores


def drawn(n_classes, seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_classes, 200)
    predicted = np.where(rng.random(200) < 0.6, labels, rng.integers(0, n_classes, 200))
    return labels, predicted


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("seed", range(3))
def test_scores_are_those_of_scikit_learn(n_classes, seed):
    from sklearn.metrics import accuracy_score, f1_score

    labels, predicted = drawn(n_classes, seed)
    found = scores(labels, predicted, n_classes)
    assert found.accuracy == pytest.approx(accuracy_score(labels, predicted))
    assert found.macro_f1 == pytest.approx(f1_score(labels, predicted, average="macro"))
    if n_classes == 2:
        f1 = f1_score(labels, predicted, pos_label=1)
        assert found.accuracy_f1 == pytest.approx((found.accuracy + f1) / 2)
    else:
        assert found.accuracy_f1 is None


def test_a_class_that_is_never_predicted_counts_as_0_and_an_absent_class_not_at_all():
    labels, predicted = np.array([0, 0, 1]), np.array([0, 0, 0])
    assert scores(labels, predicted, 2).macro_f1 == pytest.approx(0.8 / 2)
    assert scores(labels, predicted, 3).macro_f1 == pytest.approx(0.8 / 2)
    assert scores(labels[:2], predicted[:2], 2).accuracy_f1 == 0.5


def test_accuracy_f1_uses_the_f1_of_class_1():
    labels, predicted = np.array([1, 1, 1, 0]), np.array([1, 1, 1, 1])
    found, other = scores(labels, predicted, 2), scores(1 - labels, 1 - predicted, 2)
    assert found.accuracy_f1 != other.accuracy_f1
    assert other.accuracy_f1 == found.accuracy / 2


def test_predictions_of_another_shape_or_class_are_refused():
    labels = np.array([0, 1])
    with pytest.raises(InputError, match="3 predictions for 2 rows"):
        scores(labels, np.array([0, 1, 1]), 2)
    with pytest.raises(InputError, match="from 0 to 2. Allowed: 0 … 1"):
        scores(labels, np.array([0, 2]), 2)
    with pytest.raises(InputError, match="0 predictions for 0 rows"):
        scores(labels[:0], labels[:0], 2)
