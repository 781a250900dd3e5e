"""Real rows set apart from a corpus, and the rest of it that they are searched for in.

How often real rows nearly copy other rows of their corpus is the measure of near copies: it says
what chance, and a corpus that repeats itself, give. It is taken from train rows alone. The
evaluation split sets no threshold.

Rows that contain one another have one origin: in sst2 a sentence and its phrases, in mnli a premise
with three hypotheses. Nobody copied the one from the other, and such rows say nothing about how
often unrelated rows resemble each other. So a row is set apart only if no other row contains it,
and what it contains, or equals, is left out of the rest.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from take.rows.arrays import Int64
from take.text.copies import LONG_TEXT_WORDS
from take.text.normalise import TextRow, bare_words, joined

MOST_ROWS = 1000
"""Rows that are set apart: a share of 1 % is known within half a point."""
_TRIES = 10
"""Candidates that are looked at for each row wanted."""
_HELD_OUT = ("validation", "unread")


class SetApart(NamedTuple):
    """Places of rows: those set apart, in random order, and those that they are searched for in."""

    rows: Int64
    rest: Int64


def held_out_rows(corpus: pd.DataFrame, generator_rows: pd.DataFrame) -> Int64:
    """Train rows that were left out at random when the language model was trained.

    >>> corpus = pd.DataFrame({"id": ["a", "b", "c", "d"]})
    >>> roles = pd.DataFrame({"id": ["a", "b", "c"], "role": ["trained", "unread", "excluded"]})
    >>> held_out_rows(corpus, roles).tolist()
    [1]
    """
    ids = generator_rows.loc[generator_rows["role"].isin(_HELD_OUT), "id"]
    return np.flatnonzero(corpus["id"].isin(set(ids)))


def set_apart(
    rows: Sequence[TextRow], candidates: Int64, most: int, random: np.random.Generator
) -> SetApart:
    """At most `most` of the candidates that no other row contains, and the rows unrelated to them.

    A row contains another if the words of one of its texts contain those of one of the other's
    texts, in their order and without a gap. Short texts of a pair do not count.

    >>> rows = [("a dull film",), ("film",), ("what a dull film it is",), ("bliss",)]
    >>> found = set_apart(rows, np.arange(3), 9, np.random.default_rng(0))
    >>> found.rows.tolist(), found.rest.tolist()
    ([2], [3])
    """
    texts = _Texts(rows)
    drawn = random.permutation(candidates)[: most * _TRIES]
    containing = texts.by_word({texts.rarest[place] for row in drawn for place in texts.of[row]})
    apart = [
        int(row) for row in drawn if not any(texts.is_inside(t, containing) for t in texts.of[row])
    ][:most]
    related = {
        int(texts.owner[t]) for row in apart for text in texts.of[row] for t in texts.within(text)
    }
    rest = np.setdiff1d(np.arange(len(rows)), [*apart, *related])
    return SetApart(np.array(apart, dtype=np.int64), rest.astype(np.int64))


class _Texts:
    """The texts that count of each row, as words in one string, and the rarest word of each.

    A text that contains another contains its rarest word, so only texts with that word are
    compared.
    """

    def __init__(self, rows: Sequence[TextRow]) -> None:
        self.spelt: list[str] = []
        self.of: list[range] = []
        owner: list[int] = []
        for row in rows:
            found = [f" {' '.join(words)} " for words in _compared(row)]
            self.of.append(range(len(owner), len(owner) + len(found)))
            owner += [len(self.of) - 1] * len(found)
            self.spelt += found
        self.owner = owner
        frequency = Counter(word for text in self.spelt for word in set(text.split()))
        self.rarest = [min(text.split(), key=lambda w: (frequency[w], w)) for text in self.spelt]
        self._by_rarest: defaultdict[str, list[int]] = defaultdict(list)
        for place, word in enumerate(self.rarest):
            self._by_rarest[word].append(place)

    def by_word(self, wanted: set[str]) -> dict[str, list[int]]:
        """The texts that contain each of these words."""
        found: dict[str, list[int]] = {word: [] for word in wanted}
        for place, text in enumerate(self.spelt):
            for word in wanted.intersection(text.split()):
                found[word].append(place)
        return found

    def is_inside(self, text: int, by_word: dict[str, list[int]]) -> bool:
        """Whether a text of another row contains this one, and more."""
        ours = self.spelt[text]
        return any(
            len(self.spelt[other]) > len(ours)
            and ours in self.spelt[other]
            and self.owner[other] != self.owner[text]
            for other in by_word[self.rarest[text]]
        )

    def within(self, text: int) -> list[int]:
        """All texts that this one contains; itself is one."""
        ours = self.spelt[text]
        return [
            other
            for word in sorted(set(ours.split()))
            for other in self._by_rarest[word]
            if self.spelt[other] in ours
        ]


def _compared(row: TextRow) -> list[list[str]]:
    """The words of the texts by which a row is compared: of a pair, long ones, or both as one."""
    found = [bare_words(text) for text in row]
    if len(row) > 1:
        long = [words for words in found if len(words) >= LONG_TEXT_WORDS]
        found = long or [bare_words(joined(row))]
    return [words for words in found if words]
