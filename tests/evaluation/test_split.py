from __future__ import annotations

import numpy as np
import pytest

from take.errors import InputError
from take.evaluation.sealed_split import SealedSplit, evaluation_rows
from take.learners import Model, Texts


class Reader(Model):
    """Says what the text says, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Texts] = []

    def logits(self, texts: Texts) -> np.ndarray:
        self.asked.append(texts)
        return np.eye(3)[[int(text.split()[0]) for text in texts.columns[0]]]


def make(n_rows: int = 50, wrong: int = 0) -> SealedSplit:
    labels = np.random.default_rng(0).integers(0, 3, n_rows)
    said = (labels + (np.arange(n_rows) < wrong)) % 3
    return SealedSplit(Texts.of([f"{label} row {i}" for i, label in enumerate(said)]), labels, 3)


def test_marks_are_of_the_labels_of_the_rows_asked() -> None:
    marks = make(wrong=5).evaluate(Reader())
    assert marks.scores.accuracy == 0.9
    assert marks.scores.accuracy_f1 is None  # three classes
    assert marks.rows.tolist() == list(range(50))
    assert len(marks.predicted) == 50


def test_every_model_is_asked_the_same_questions_as_one_object() -> None:
    split, first, second = make(wrong=25), Reader(), Reader()
    marks, others = split.evaluate(first, 20), split.evaluate(second, 20)
    assert first.asked[0] is second.asked[0]  # or each would be tokenised anew
    assert marks.rows.tolist() == others.rows.tolist() == sorted(set(marks.rows.tolist()))
    assert len(marks.predicted) == 20
    assert 0 < (marks.rows < 25).sum() < 20  # drawn from all of the split, not its beginning
    assert marks.scores.accuracy == np.mean(marks.rows >= 25)
    again = make(wrong=25).evaluate(Reader(), 20)
    assert again.rows.tolist() == marks.rows.tolist()


def test_more_rows_than_there_are_is_all_of_them() -> None:
    split, reader = make(), Reader()
    assert [len(split.rows(most)) for most in (None, 99, 7)] == [50, 50, 7]
    split.evaluate(reader, 99)
    split.evaluate(reader, None)
    assert len(reader.asked[0]) == 50
    assert reader.asked[0] is reader.asked[1]


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
    assert reader.asked[0].columns[1] == tuple(f"right {row}" for row in marks.rows)
    assert marks.scores.accuracy == 1


def test_a_split_is_known_by_its_texts_and_labels() -> None:
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


def test_a_model_s_answers_are_held_against_the_classes() -> None:
    class Confused(Model):
        def logits(self, texts: Texts) -> np.ndarray:
            return np.eye(5)[np.full(len(texts), 4)]

    with pytest.raises(InputError, match="0 … 2"):
        make().evaluate(Confused())
