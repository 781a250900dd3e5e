"""Recall on planted data: valid examples of every kind are found, with their kind and place.

With a wrong check digit they are not found as that kind. Tiny texts, no model.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from take.audit.privacy.pii import ALL_KINDS, find_pii
from tests.audit.privacy.planted_pii import KINDS, digits, disguised, phone, with_luhn

SENTENCES = (
    "{}",
    "It is {}.",
    "a dull film , and {} is all that i remember of it .",
    "For the refund, quote {}, then wait (it took me 3 weeks in 2004).",
    "Rated 10 out of 10 by 1,234 people; see {}; shown at 12:30 on 16.11.2004.",
    "«{}» stand auf dem Zettel, 2 Mal.",
    "3 stars\n{}\n2 stars",
)
PER_KIND = 300


def planted_rows(kind: str, valid: bool) -> Iterator[tuple[str, int, int]]:
    """Texts, and where in them the planted number is."""
    chance = Random(f"{kind} {valid}")
    for index in range(PER_KIND):
        if kind == "phone":
            word, number = "", phone(chance)
        else:
            make, ways = KINDS[kind]
            word, number = chance.choice(ways)(make(chance)[not valid])
        if index % 3 == 2:
            number = disguised(number, chance)
        before, after = SENTENCES[index % len(SENTENCES)].split("{}")
        before += word
        yield f"{before}{number}{after}", len(before), len(before) + len(number)


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_all_that_is_planted_is_found(kind: str) -> None:
    texts, starts, ends = zip(*planted_rows(kind, valid=True), strict=True)
    expected = list(zip(range(PER_KIND), [kind] * PER_KIND, starts, ends, strict=True))
    missed = set(expected) - {tuple(one) for one in find_pii(texts)}
    assert not missed, sorted((texts[row], start) for row, _, start, _ in missed)[:5]


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_nothing_else_is_found_around_it(kind: str) -> None:
    texts, starts, ends = zip(*planted_rows(kind, valid=True), strict=True)
    for one in find_pii(texts):
        assert one.start >= starts[one.row], texts[one.row]
        assert one.end <= ends[one.row], texts[one.row]


@pytest.mark.parametrize("kind", KINDS)
def test_a_wrong_check_digit_is_not_that_kind(kind: str) -> None:
    texts, *_ = zip(*planted_rows(kind, valid=False), strict=True)
    wrong = [texts[one.row] for one in find_pii(texts, [kind])]
    assert wrong == []


def test_cards_of_nineteen_digits_are_found_whole() -> None:
    chance = Random(19)
    for _ in range(100):
        number = with_luhn("4" + digits(chance, 17))[0]
        assert [tuple(one) for one in find_pii([number])] == [(0, "card", 0, 19)]


def test_the_sentences_alone_contain_nothing() -> None:
    assert find_pii([sentence.format("this") for sentence in SENTENCES]) == []
