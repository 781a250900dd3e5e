"""Rows that contain one another, or nearly repeat one another: they stay on one side of a split.

A model that was trained on "a gorgeous , witty film" has seen "witty film". Rows held out from it
are only held out if they neither contain a row it was trained on, nor lie in one, nor nearly repeat
one. Splits by whole families of such rows do not work where rows are phrases: "good" is in a tenth
of a corpus, and links everything to everything. So a split is drawn on one side first, and its
relatives are left out on the other; rows that very many others contain are on no side.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from itertools import count
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from take.rows.arrays import Int64
from take.rows.random import mixed
from take.text.copies import COMMON_ROWS, LONG_TEXT_WORDS, CopySettings
from take.text.normalise import TextRow, bare_words, joined
from take.text.overlap import NearTexts

Mask = NDArray[np.bool_]
_Codes = NDArray[np.uint64]

_KEY_WORDS = 64
"""Longer texts are looked up by so many first words, and then compared whole."""
_TABLE_BITS = 20
_BASE = 0x9E3779B97F4A7C15
"""Any odd number has an inverse mod 2⁶⁴."""


class _Nested(NamedTuple):
    """Rows and the rows that contain them; and rows that too many others contain."""

    row: Int64
    container: Int64
    is_common: Mask


class RelatedRows:
    """The rows of a corpus, and which of them belong together.

    Two rows are related if the words of one are a run of the other's, or if they are near copies by
    the privacy gate's rule (`CopySettings`). A text of a pair counts by itself from 8 words on, as
    there. Rows that more than 20 others contain are `common`: they are used on no side of a split,
    and relate to nothing.

    >>> rows = [("a witty , gorgeous film",), ("gorgeous film",), ("a dull plot",)]
    >>> RelatedRows(rows).to(np.array([1])).tolist()
    [True, True, False]
    """

    def __init__(self, rows: Sequence[TextRow], settings: CopySettings | None = None) -> None:
        self._rows = list(rows)
        self._settings = settings or CopySettings()

    @property
    def common(self) -> Mask:
        """Which rows more than 20 others contain."""
        return self._nested.is_common

    def to(self, chosen: Int64) -> Mask:
        """Which rows are related to a chosen one; these included."""
        is_chosen = np.zeros(len(self._rows), dtype=np.bool_)
        is_chosen[chosen] = True
        found = is_chosen.copy()
        if not len(chosen):
            return found
        found[self._nested.container[is_chosen[self._nested.row]]] = True
        found[self._nested.row[is_chosen[self._nested.container]]] = True
        for near, rows, texts in self._near:
            mine = np.flatnonzero(is_chosen[rows])
            found[rows[near.pairs([texts[place] for place in mine]).row]] = True
        return found

    @cached_property
    def _near(self) -> list[tuple[NearTexts, Int64, list[str]]]:
        """Whole rows, and the long texts of pairs: their index, their rows, themselves."""
        rule = self._settings.near_copy_overlap, self._settings.chance_rows
        whole = [joined(row) for row in self._rows]
        found = [(NearTexts(whole, *rule), np.arange(len(whole)), whole)]
        if self._rows and len(self._rows[0]) > 1:
            long = [
                (place, text)
                for place, row in enumerate(self._rows)
                for text in row
                if len(bare_words(text)) >= LONG_TEXT_WORDS
            ]
            texts = [text for _, text in long]
            rows = np.array([place for place, _ in long], dtype=np.int64)
            found.append((NearTexts(texts, *rule), rows, texts))
        return found

    @cached_property
    def _nested(self) -> _Nested:
        least = LONG_TEXT_WORDS if self._rows and len(self._rows[0]) > 1 else 1
        texts = [
            (place, words)
            for place, row in enumerate(self._rows)
            for words in map(bare_words, row)
            if len(words) >= least
        ]
        return _nested(
            [words for _, words in texts], [place for place, _ in texts], len(self._rows)
        )


def _nested(texts: Sequence[Sequence[str]], owners: Sequence[int], n_rows: int) -> _Nested:
    """Which rows contain a text of which other rows, as a run of words.

    A run of ℓ words from i on has the hash B⁻ⁱ Σ_j c(w_{i+j}) Bⁱ⁺ʲ (mod 2⁶⁴), wherever it stands.
    """
    line = _Line(texts, np.array(owners, dtype=np.int64))
    is_common = np.zeros(n_rows, dtype=np.bool_)
    rows, containers = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    keys = np.minimum(line.lengths, _KEY_WORDS)
    for length in np.unique(keys):
        owned = np.flatnonzero(keys == length)
        text, container = line.places_of(owned, int(length))
        mine, theirs = line.owners[text], line.owners[container]
        apart = mine != theirs
        text, mine, theirs = text[apart], mine[apart], theirs[apart]
        # A text may stand twice in one row.
        once = np.unique(np.stack([text, theirs]), axis=1, return_index=True)[1]
        text, mine, theirs = text[once], mine[once], theirs[once]
        is_common[line.owners[np.flatnonzero(np.bincount(text) > COMMON_ROWS)]] = True
        rows.append(mine)
        containers.append(theirs)
    row, container = np.concatenate(rows), np.concatenate(containers)
    kept = ~is_common[row] & ~is_common[container]
    return _Nested(row[kept], container[kept], is_common)


class _Line:
    """All texts in one line of words, with hashes of its runs."""

    def __init__(self, texts: Sequence[Sequence[str]], owners: Int64) -> None:
        vocabulary: defaultdict[str, int] = defaultdict(count().__next__)
        words = [vocabulary[word] for text in texts for word in text]
        self.owners = owners
        self.lengths = np.array([len(text) for text in texts], dtype=np.int64)
        self._starts = np.cumsum(self.lengths) - self.lengths
        self._text = np.repeat(np.arange(len(texts)), self.lengths)
        codes = mixed(np.array(words, dtype=np.uint64))
        inverse = pow(_BASE, -1, 2**64)
        powers = _powers(_BASE, len(codes))
        self._sums = np.concatenate([[np.uint64(0)], np.cumsum(codes * powers, dtype=np.uint64)])
        self._inverses = _powers(inverse, len(codes))
        self._left = np.repeat(self._starts + self.lengths, self.lengths) - np.arange(len(codes))

    def places_of(self, owned: Int64, length: int) -> tuple[Int64, Int64]:
        """Each of the texts `owned`, of which `length` words are looked up, and a text with it."""
        starts = self._starts[owned]
        hashes = self._hashes(starts, np.full(len(starts), length))
        order = np.argsort(hashes, kind="stable")
        owned, hashes = owned[order], hashes[order]
        table = np.zeros(2**_TABLE_BITS, dtype=np.bool_)
        table[hashes >> np.uint64(64 - _TABLE_BITS)] = True
        places = np.flatnonzero(self._left >= length)
        runs = self._hashes(places, np.full(1, length))
        hopeful = table[runs >> np.uint64(64 - _TABLE_BITS)]
        places, runs = places[hopeful], runs[hopeful]
        first, last = (np.searchsorted(hashes, runs, side) for side in ("left", "right"))
        times = last - first
        place = np.repeat(places, times)
        nth = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
        text = owned[np.repeat(first, times) + nth]
        if length == _KEY_WORDS:  # only the first words are known to be equal
            whole = self.lengths[text]
            fits = self._left[place] >= whole
            place, text, whole = place[fits], text[fits], whole[fits]
            equal = self._hashes(place, whole) == self._hashes(self._starts[text], whole)
            place, text = place[equal], text[equal]
        return text, self._text[place]

    def _hashes(self, places: Int64, lengths: Int64) -> _Codes:
        sums = self._sums[places + lengths] - self._sums[places]
        hashes: _Codes = sums * self._inverses[places]
        return hashes


def _powers(base: int, n: int) -> _Codes:
    """1, B, B² … (mod 2⁶⁴)."""
    factors = np.full(n, base, dtype=np.uint64)
    factors[:1] = 1
    powers: _Codes = np.cumprod(factors, dtype=np.uint64)
    return powers
