from __future__ import annotations

import random
import string

import numpy as np
import pytest

from take.text.copies import CopySettings
from take.text.normalise import bare_words
from take.text.related import RelatedRows

EXACT = CopySettings(near_copy_overlap=1.0)


def contains(long: list[str], short: list[str]) -> bool:
    return any(long[i : i + len(short)] == short for i in range(len(long) - len(short) + 1))


def test_the_same_as_comparing_every_row_with_every_other() -> None:
    chance = random.Random(0)
    texts = [" ".join(chance.choices("abcde", k=chance.randint(1, 9))) for _ in range(400)]
    texts = list(dict.fromkeys(texts))
    words = [bare_words(text) for text in texts]
    nested = np.array(
        [[contains(a, b) or contains(b, a) for b in words] for a in words], dtype=np.bool_
    )
    containers = np.array([sum(contains(a, b) for a in words) - 1 for b in words])
    related = RelatedRows([(text,) for text in texts], EXACT)
    assert related.common.tolist() == (containers > 20).tolist()
    assert 5 < related.common.sum() < 100
    chosen = np.flatnonzero(~related.common)[::7]
    found = related.to(chosen)
    expected = nested[chosen].any(axis=0) & ~related.common
    assert found[expected].all()
    # All that is found beyond that are the same words in another order: near copies.
    known = {tuple(sorted(words[row])) for row in chosen}
    for row in np.flatnonzero(found & ~expected):
        assert tuple(sorted(words[row])) in known


@pytest.mark.parametrize("n_words", [63, 64, 65, 200])
def test_long_texts_are_compared_whole(n_words: int) -> None:
    words = [f"w{n}" for n in range(300)]
    inside = " ".join(words[20 : 20 + n_words])
    other = " ".join([*words[20 : 19 + n_words], "otherwise"])
    related = RelatedRows([(" ".join(words),), (inside,), (other,)], EXACT)
    assert related.to(np.array([0])).tolist() == [True, True, False]
    assert related.to(np.array([1])).tolist() == [True, True, False]


def test_near_copies_are_related() -> None:
    texts = ["our dog sat on that warm mat", "our cat sat on that warm mat", "nobody came"]
    related = RelatedRows([(text,) for text in texts])
    assert related.to(np.array([1])).tolist() == [True, True, False]


def test_a_long_text_of_a_pair_counts_by_itself_and_a_short_one_does_not() -> None:
    long = "a man in a red coat walks his two old dogs"
    rows = [(long, "He is out."), (f"{long} home", "Nobody walks."), ("It rains.", "He is out.")]
    assert RelatedRows(rows, EXACT).to(np.array([0])).tolist() == [True, True, False]


def test_pairs_of_short_texts_count_as_one_text() -> None:
    rows = [("He is out.", "It rains."), ("Yes, he is out.", "It rains now."), ("It rains.", "So.")]
    assert RelatedRows(rows, EXACT).to(np.array([0])).tolist() == [True, True, False]
    repeated = RelatedRows([rows[0]] * 22, EXACT)
    assert repeated.common.all()


def test_a_phrase_in_very_many_rows_relates_nothing() -> None:
    rows = [("good",), *((f"good {a}{b}",) for a in string.ascii_lowercase for b in "xyz")]
    related = RelatedRows(rows, EXACT)
    assert np.flatnonzero(related.common).tolist() == [0]
    assert np.flatnonzero(related.to(np.array([5]))).tolist() == [5]


def test_nothing_chosen_and_no_rows() -> None:
    assert not RelatedRows([("a",), ("b",)]).to(np.array([], dtype=np.int64)).any()
    assert RelatedRows([]).common.tolist() == []
