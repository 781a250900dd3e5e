"""Rows set apart from a corpus, against a comparison of every row with every other."""

from __future__ import annotations

import random

import numpy as np
import pytest

from take.audit.privacy.real_rows import set_apart
from take.text.normalise import TextRow, bare_words, joined

LONG = 8


def compared(row: TextRow) -> list[str]:
    found = [bare_words(text) for text in row]
    if len(row) > 1:
        found = [words for words in found if len(words) >= LONG] or [bare_words(joined(row))]
    return [f" {' '.join(words)} " for words in found]


def contains(row: TextRow, other: TextRow, *, more: bool) -> bool:
    return any(
        text in whole and (text != whole or not more)
        for whole in compared(row)
        for text in compared(other)
    )


def made(n_texts: int, longest: int) -> list[TextRow]:
    chance = random.Random(0)
    text = lambda: " ".join(chance.choices("abc", k=chance.randint(1, longest)))  # noqa: E731
    return [tuple(text() for _ in range(n_texts)) for _ in range(150)]


@pytest.mark.parametrize(("n_texts", "longest"), [(1, 12), (2, 7), (2, 14)])
def test_the_same_as_comparing_every_row_with_every_other(n_texts: int, longest: int) -> None:
    rows, candidates = made(n_texts, longest), np.arange(0, 150, 2)
    found = set_apart(rows, candidates, 20, np.random.default_rng(0))
    outside = [
        row
        for row in np.random.default_rng(0).permutation(candidates)
        if not any(
            contains(rows[other], rows[row], more=True) for other in range(150) if other != row
        )
    ]
    assert found.rows.tolist() == outside[:20]
    assert len(found.rows) > 5
    rest = [
        row
        for row in range(150)
        if row not in found.rows
        and not any(contains(rows[apart], rows[row], more=False) for apart in found.rows)
    ]
    assert found.rest.tolist() == rest


def test_equal_rows_are_set_apart_and_not_searched() -> None:
    found = set_apart([("a b",), ("A b!",), ("c",)], np.array([0]), 9, np.random.default_rng(0))
    assert (found.rows.tolist(), found.rest.tolist()) == ([0], [2])


@pytest.mark.parametrize("rows", [[], [("?",)], [("?", "!")]])
def test_without_words_nothing_contains_anything(rows: list[TextRow]) -> None:
    found = set_apart(rows, np.arange(len(rows)), 9, np.random.default_rng(0))
    assert (found.rows.tolist(), found.rest.tolist()) == (list(range(len(rows))), [])
