"""Finding identity terms, on made-up rows."""

from __future__ import annotations

import numpy as np
import pytest
from pydantic import ValidationError

from take.audit.balance.terms import DEFAULT_GROUPS, BalanceSettings, Groups, mentions, sides
from take.errors import InputError
from take.text.normalise import words
from take.text.tokens import Vocabulary


def found(groups: Groups, *columns: list[str]) -> list[list[bool]]:
    vocabulary = Vocabulary()
    tokens = vocabulary.read(columns)
    result: list[list[bool]] = mentions(tokens, vocabulary, groups).tolist()
    return result


def one(terms: tuple[str, ...]) -> Groups:
    return {"group": {"side": terms}}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SHE left", True),
        ("what she—or he—said", True),
        ("she's gone", False),  # another word: the list has it for itself
        ("ashes and sheep", False),
        ("s h e", False),
        ("", False),
    ],
)
def test_single_words_are_found_whole_and_whatever_their_case(text: str, expected: bool) -> None:
    assert found(one(("she",)), [text]) == [[expected]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("an OLD-man's tale", False),  # "man's" is one word, "mans"
        ("the old man", True),
        ("the old, man", True),
        ("old old man", True),
        ("old", False),
        ("man old", False),
        ("old young man", False),
    ],
)
def test_phrases_are_found_in_order_and_without_gaps(text: str, expected: bool) -> None:
    assert found(one(("old man",)), [text]) == [[expected]]


def test_a_phrase_does_not_run_over_the_end_of_a_text() -> None:
    groups = one(("old man",))
    assert found(groups, ["so old", "man overboard"]) == [[False], [False]]
    assert found(groups, ["so old"], ["man overboard"]) == [[False]]  # a pair's two texts
    assert found(groups, ["x"], ["an old man"]) == [[True]]


def test_marks_and_writing_make_no_difference() -> None:
    groups = one(("she's", "Ｆｒａｕ", "café owner"))
    texts = ["SHE’S here", "die Frau", "a CAFE\u0301 owner", "cafe owner"]
    assert found(groups, texts) == [[True], [True], [True], [False]]


def test_it_finds_what_reading_every_row_finds() -> None:
    random = np.random.default_rng(0)
    letters = list("abcd")
    texts = [
        [" ".join(random.choice(letters, random.integers(0, 7))) for _ in range(400)]
        for _ in range(2)
    ]
    groups = {
        "g": {"one": ("a", "b c"), "two": ("c d a", "d d"), "none": ("e", "a e")},
        "h": {"three": ("a b a b", "zz")},
    }

    def by_hand(row: int, terms: tuple[str, ...]) -> bool:
        padded = [f" {column[row]} " for column in texts]
        return any(f" {term} " in text for term in terms for text in padded)

    lists = [terms for its in groups.values() for terms in its.values()]
    expected = [[by_hand(row, terms) for terms in lists] for row in range(400)]
    assert found(groups, *texts) == expected
    assert np.array(expected).any(axis=0).tolist() == [True, True, False, True]


def test_the_default_lists_are_what_the_words_of_a_text_can_match() -> None:
    for side, terms in (
        (side, DEFAULT_GROUPS[side.group][side.side]) for side in sides(DEFAULT_GROUPS)
    ):
        assert terms, side
        forms = [tuple(words(term)) for term in terms]
        assert all(forms), side
        assert len(set(forms)) == len(forms), side


def test_no_term_is_on_two_sides_of_a_group() -> None:
    for group, its in DEFAULT_GROUPS.items():
        every = [tuple(words(term)) for terms in its.values() for term in terms]
        assert len(set(every)) == len(every), group


@pytest.mark.parametrize(
    "groups",
    [{"g": {"s": ["..."]}}, {"g": {"s": []}}, {"g": {}}, {" ": {"s": ["a"]}}, {"g": {"": ["a"]}}],
)
def test_a_list_that_can_find_nothing_is_refused(groups: dict) -> None:
    with pytest.raises((InputError, ValidationError)):
        BalanceSettings(identity_groups=groups)


def test_no_groups_at_all_are_allowed() -> None:
    assert found(BalanceSettings(identity_groups={}).identity_groups, ["she", "he"]) == [[], []]
