"""Scores compared with numbers computed by hand or by sacrebleu 2.6.0."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from take.generation.quality.wording import (
    BleuReferences,
    distinct,
    first,
    self_bleu,
    tokens,
)

REFERENCES = [
    "the cat sat on the mat .",
    "there is a cat on the mat and it is asleep",
    "a film about the cat",
]
# BLEU(smooth_method="floor", effective_order=True, tokenize="none").sentence_score(h, refs) / 100
SACREBLEU = {
    "the cat sat on the mat .": 1.0,
    "the the the the the the the": 0.0392814650900513,
    "a cat sat on a film about the dog": 0.4518010018049223,
    "the cat": 0.22313016014842982,
    "cat": 0.01831563888873418,
    "it is asleep and the mat is on it": 0.16784459625186193,
    "dog": 0.0,
}


@pytest.mark.parametrize(("hypothesis", "expected"), SACREBLEU.items())
def test_bleu_is_sacrebleu(hypothesis, expected):
    references = BleuReferences([reference.split() for reference in REFERENCES])
    assert references.bleu(hypothesis.split()) == pytest.approx(expected, abs=1e-12)


def test_bleu_by_hand():
    """3 of 4 words, 2 of 3 pairs, 1 of 2 triples, no fours (0.1 of 1), and no brevity penalty."""
    references = BleuReferences([["a", "b", "c", "d"]])
    by_hand = (3 / 4 * 2 / 3 * 1 / 2 * 0.1 / 1) ** (1 / 4)
    assert references.bleu(["a", "b", "c", "x"]) == pytest.approx(by_hand)


def test_matches_are_clipped_at_the_most_in_any_one_reference():
    """`the` twice in one reference and once in another: two count, not three."""
    references = BleuReferences([["the", "the"], ["the", "x"]])
    by_hand = (2 / 3 * 1 / 2 * 0.1 / 1) ** (1 / 3)
    assert references.bleu(["the", "the", "the"]) == pytest.approx(by_hand)


def test_self_bleu_of_rows_without_a_common_word_is_zero_and_of_copies_one():
    different = [[f"{row}-{i}" for i in range(6)] for row in range(30)]
    assert self_bleu(different, 10, 20) == 0
    assert self_bleu([different[0]] * 30, 10, 20) == pytest.approx(1)
    assert self_bleu(different[:1], 10, 20) is None


def test_a_row_is_never_its_own_reference():
    rows = [[str(i)] * 5 for i in range(7)]
    for n_rows in range(2, 8):
        assert self_bleu(rows[:n_rows], 200, 500) == 0


def test_distinct_by_hand():
    rows = [["a", "b", "a"], ["a", "b"]]
    assert distinct(rows, 1) == 2 / 5
    assert distinct(rows, 2) == 2 / 3  # ab, ba, ab
    assert distinct(rows, 3) == 1
    assert distinct(rows, 4) is None


@given(st.lists(st.lists(st.sampled_from("abc"), max_size=6), max_size=8), st.integers(0, 30))
def test_first_takes_exactly_so_many_tokens_in_order(rows, n_tokens):
    flat = [token for row in rows for token in row]
    assert [token for row in first(rows, n_tokens) for token in row] == flat[:n_tokens]


def test_tokens_are_words_and_punctuation_without_case():
    assert tokens("Don't!  STOP") == ["don", "'", "t", "!", "stop"]
    assert tokens("héllo 你好") == ["héllo", "你好"]
