from __future__ import annotations

import numpy as np
import pytest

from take.errors import InputError
from take.evaluation.sealed_split import SealedSplit, evaluation_rows, scores
from take.learners import Model, Texts


class Reader(Model):
    """Predicts the label in the text, and records the texts."""

    def __init__(self) -> None:
        self.queries: list[Texts] = []

    def logits(self, texts: Texts) -> np.ndarray:
        self.queries.append(texts)
        return np.eye(3)[[int(text.split()[0]) for text in texts.columns[0]]]


def make(n_rows: int = 50, wrong: int = 0) -> SealedSplit:
    labels = np.random.default_rng(0).integers(0, 3, n_rows)
    predicted = (labels + (np.arange(n_rows) < wrong)) % 3
    return SealedSplit(
        Texts.of([f"{label} row {i}" for i, label in enumerate(predicted)]), labels, 3
    )


def test_scores_are_of_the_evaluated_rows() -> None:
    marks = make(wrong=5).evaluate(Reader())
    assert marks.scores.accuracy == 0.9
    assert marks.scores.accuracy_f1 is None  # three classes
    assert marks.rows.tolist() == list(range(50))
    assert len(marks.predicted) == 50


def test_every_model_predicts_the_same_texts_as_one_object() -> None:
    split, first, second = make(wrong=25), Reader(), Reader()
    marks, others = split.evaluate(first, 20), split.evaluate(second, 20)
    assert first.queries[0] is second.queries[0]  # or each would be tokenised again
    assert marks.rows.tolist() == others.rows.tolist() == sorted(set(marks.rows.tolist()))
    assert len(marks.predicted) == 20
    assert 0 < (marks.rows < 25).sum() < 20  # drawn from all of the split, not its beginning
    assert marks.scores.accuracy == np.mean(marks.rows >= 25)
    again = make(wrong=25).evaluate(Reader(), 20)
    assert again.rows.tolist() == marks.rows.tolist()


def test_a_limit_above_the_number_of_rows_means_all_rows() -> None:
    split, reader = make(), Reader()
    assert [len(split.rows(most)) for most in (None, 99, 7)] == [50, 50, 7]
    split.evaluate(reader, 99)
    split.evaluate(reader, None)
    assert len(reader.queries[0]) == 50
    assert reader.queries[0] is reader.queries[1]


def test_the_rows_of_a_subset_are_public() -> None:
    split = make()
    for most in (1, 12, 49, 50, None):
        assert split.rows(most).tolist() == split.evaluate(Reader(), most).rows.tolist()
        assert split.rows(most).tolist() == evaluation_rows(50, most).tolist()
    assert split.rows(12).tolist() != list(range(12))  # not the first ones


def test_pairs_stay_together() -> None:
    left, right = [f"{i % 3} left" for i in range(30)], [f"right {i}" for i in range(30)]
    split, reader = SealedSplit(Texts.of(left, right), np.arange(30) % 3, 3), Reader()
    marks = split.evaluate(reader, 10)
    assert reader.queries[0].columns[1] == tuple(f"right {row}" for row in marks.rows)
    assert marks.scores.accuracy == 1


def test_the_identity_depends_on_texts_and_labels() -> None:
    texts, labels = ["0 a", "1 b"], np.array([0, 1])
    known = SealedSplit(Texts.of(texts), labels, 3).identity
    assert SealedSplit(Texts.of(list(texts)), labels.astype(np.int32), 3).identity == known
    others = [
        SealedSplit(Texts.of(["0 a", "1 c"]), labels, 3),
        SealedSplit(Texts.of(texts[::-1]), labels, 3),
        SealedSplit(Texts.of(texts), labels[::-1], 3),
        SealedSplit(Texts.of(texts[:1]), labels[:1], 3),
        SealedSplit(Texts.of(texts, texts), labels, 3),
    ]
    assert len({known, *(split.identity for split in others)}) == 6


@pytest.mark.parametrize("labels", [np.array([0]), np.array([0, 1, 2])])
def test_a_split_without_a_label_for_each_row_is_refused(labels: np.ndarray) -> None:
    with pytest.raises(InputError, match="evaluation split: 2 texts and . labels"):
        SealedSplit(Texts.of(["a", "b"]), labels, 3)
    with pytest.raises(InputError, match="one row or more"):
        SealedSplit(Texts.of([]), np.array([], dtype=np.int64), 3)


def test_predictions_outside_the_classes_are_refused() -> None:
    class Confused(Model):
        def logits(self, texts: Texts) -> np.ndarray:
            return np.eye(5)[np.full(len(texts), 4)]

    with pytest.raises(InputError, match="0 … 2"):
        make().evaluate(Confused())


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
