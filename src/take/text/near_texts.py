"""Texts that share nearly all their words, and not by chance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log
from typing import NamedTuple

import numpy as np

from take.text.normalise import words
from take.text.overlap import OverlapIndex, Pairs

_FEW_TEXTS = 1000
"""Of fewer texts, how many hold a word says little: they count as so many."""


class NearRule(NamedTuple):
    """When two texts are nearly the same."""

    overlap: float
    """Jaccard index of their words, where the longer has `least_words` or more."""
    least_words: int
    short_overlap: float
    """Jaccard index where it has fewer; below `least_short_words`, never."""
    least_short_words: int
    chance_rows: float
    """Reference texts that may be expected to hold the shared words by chance."""


class NearTexts:
    """Reference texts, searched for those that share nearly all words with another.

    Of N texts, Π_w d_w / N is the share that holds a set of words by chance, if d_w texts hold
    word w and words come independently. "A piece of work" and "a fine piece of work" have much in
    common, and with half the corpus, too. So the words that two texts share must be expected in
    fewer than `chance_rows` texts:

        N Π_w (d_w / N) < chance_rows.

    >>> texts = ["a fine piece of work"] * 400 + ["our dog sat on that mat"]
    >>> near = NearTexts(texts, NearRule(0.65, 5, 0.75, 3, chance_rows=0.05))
    >>> near.pairs(["a bad piece of work", "our cat sat on that mat"]).row.tolist()
    [400]
    """

    def __init__(self, texts: Sequence[str], rule: NearRule) -> None:
        self._rule = rule
        self._texts = texts
        self._index = OverlapIndex(texts, min(rule.overlap, rule.short_overlap))
        self._sizes = np.empty(len(texts), dtype=np.int64)
        self._texts_with: Counter[str] = Counter()
        for index, text in enumerate(texts):
            found = words(text)
            self._sizes[index] = len(found)
            self._texts_with.update(set(found))

    def pairs(self, texts: Sequence[str]) -> Pairs:
        """All pairs of a text and a reference text that are nearly the same."""
        rule = self._rule
        found = self._index.pairs(texts)
        sizes = np.array([len(words(text)) for text in texts], dtype=np.int64)
        longer = np.maximum(sizes[found.query], self._sizes[found.row])
        is_long = longer >= rule.least_words
        needed = np.where(is_long, rule.overlap, rule.short_overlap)
        is_near = (found.value >= needed) & (longer >= rule.least_short_words)
        for place in np.flatnonzero(is_near):
            is_near[place] = self._tells(texts[found.query[place]], self._texts[found.row[place]])
        return Pairs(found.query[is_near], found.row[is_near], found.value[is_near])

    def _tells(self, ours: str, theirs: str) -> bool:
        shared = Counter(words(ours)) & Counter(words(theirs))
        n_texts = max(len(self._texts), _FEW_TEXTS)
        chance = sum(
            times * log(self._texts_with[word] / n_texts) for word, times in shared.items()
        )
        return log(n_texts) + chance < log(self._rule.chance_rows)
