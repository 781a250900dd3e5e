"""The whole search for copies against a naive one that shares no code with it.

The naive one compares every row with every other: words by `re`, overlap by counting, shared runs
by trying each pair of places. Rows are real, and so are the changes that make copies of some.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from itertools import chain

import pytest

from take.text.copies import CopyIndex, CopySettings
from take.text.normalise import TextRow
from tests.text.test_copies_planted import built_in_corpus

REFERENCE, TIMES = 60, 2
Own = tuple[list[str], ...]


def own_words(text: str) -> list[str]:
    return re.findall("[a-z0-9]+", text.lower().replace("'", "").replace("`", ""))


def jaccard(ours: list[str], theirs: list[str]) -> float:
    one, other = Counter(ours), Counter(theirs)
    either = (one | other).total()
    return (one & other).total() / either if either else 0.0


def is_near(ours: list[str], theirs: list[str], texts: list[list[str]]) -> bool:
    longer = max(len(ours), len(theirs))
    if longer < 3 or jaccard(ours, theirs) < (0.65 if longer >= 5 else 0.8):
        return False
    n = max(1000, len(texts))
    expected = float(n)
    for word, times in (Counter(ours) & Counter(theirs)).items():
        expected *= (sum(word in text for text in texts) / n) ** times
    return expected < 0.05


def shared(ours: list[str], theirs: list[str]) -> tuple[set[int], int]:
    """Our places within runs of five words or more that they have, too, and the longest run."""
    places, longest = set[int](), 0
    for i in range(len(ours)):
        for j in range(len(theirs)):
            n = 0
            while ours[i : i + n + 1] == theirs[j : j + n + 1] and i + n < len(ours):
                n += 1
            if n >= 5:
                places |= set(range(i, i + n))
                longest = max(longest, n)
    return places, longest


def naive_kind(ours: Own, reference: list[Own]) -> str | None:
    def long(row: Own) -> list[list[str]]:
        return [text for text in row if len(text) >= 8] if len(row) > 1 else []

    def key(row: Own) -> list[str]:
        return ["".join(text) for text in row]

    keys = {"".join(text) for row in reference for text in long(row)}
    if any(key(ours) == key(row) for row in reference) or any(
        "".join(t) in keys for t in long(ours)
    ):
        return "verbatim"
    whole = [[*chain(*row)] for row in reference]
    singles = [text for row in reference for text in long(row)]
    runs = [[shared(text, theirs) for text in ours for theirs in row] for row in reference]
    n_words = sum(map(len, ours))
    near = any(is_near([*chain(*ours)], row, whole) for row in whole)
    if len(ours) > 1:
        near |= any(is_near(text, theirs, singles) for text in ours for theirs in singles)
    for row in runs:
        # Of a text of ours, what it shares with either of theirs.
        n_theirs = len(row) // len(ours)
        covered = sum(
            len(set[int]().union(*(places for places, _ in row[i * n_theirs : (i + 1) * n_theirs])))
            for i in range(len(ours))
        )
        near |= covered >= 8 and covered >= 0.8 * n_words
    if near:
        return "near_copy"
    return "shared_span" if any(n >= 8 for row in runs for _, n in row) else None


def changed(text: str, chance: random.Random, others: list[str]) -> str:
    found = text.split()
    half, place = len(found) // 2, chance.randrange(len(found))
    ways = [
        lambda: text.upper() + " !!",
        lambda: " ".join([*found[:place], "zeppelin", *found[place + 1 :]]),
        lambda: " ".join(chance.sample(found, len(found))),
        lambda: " ".join(found[half:]),
        lambda: f"{text} {chance.choice(others)}",
        lambda: " ".join(found[: 2 * half // 3] + chance.choice(others).split()),
        lambda: chance.choice(others),
    ]
    return chance.choice(ways)()


@pytest.mark.parametrize("texts_per_row", [1, 2])
def test_a_naive_search_finds_the_same_copies(texts_per_row: int) -> None:
    chance = random.Random(texts_per_row)
    texts = [
        text for text in built_in_corpus().corpus["text"] if text.isascii() and own_words(text)
    ]
    chance.shuffle(texts)
    n_known = REFERENCE * texts_per_row
    known, others = texts[:n_known], texts[n_known:]

    def rows(flat: list[str]) -> list[TextRow]:
        return [tuple(flat[i : i + texts_per_row]) for i in range(0, len(flat), texts_per_row)]

    reference = rows(known)
    queries = rows([changed(text, chance, others) for text in known * TIMES])
    found = CopyIndex(reference, CopySettings()).find(queries).findings
    kinds = {finding.query: finding.kind for finding in found}
    own = [tuple(map(own_words, row)) for row in reference]
    expected = {i: naive_kind(tuple(map(own_words, row)), own) for i, row in enumerate(queries)}
    assert {i: kinds.get(i) for i in expected} == expected
    assert set(expected.values()) == {"verbatim", "near_copy", "shared_span", None}
