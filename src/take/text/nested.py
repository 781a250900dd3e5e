"""Texts of a corpus that contain one another: the words of one are a run of the other's.

Rows with such texts have one origin: in sst2 a sentence and its phrases, in mnli a premise with its
hypotheses. Splits keep them on one side (`take.text.related`), and the privacy gate does not count
them as copies of each other (`take.audit.privacy.real_rows`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import count
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from take.rows.arrays import Bools, Int64
from take.rows.random import mixed
from take.text.copies import LONG_TEXT_WORDS
from take.text.normalise import TextRow, bare_words, joined

_Codes = NDArray[np.uint64]

_KEY_WORDS = 64
"""Longer texts are looked up by so many first words, and then compared whole."""
_TABLE_BITS = 20
_BASE = 0x9E3779B97F4A7C15
"""Any odd number has an inverse mod 2⁶⁴."""


class Nested(NamedTuple):
    """Pairs of texts of different rows: the words of the first are a run of the second's."""

    inner: Int64  # places of texts, as are the next
    outer: Int64
    is_equal: Bools
    """Whether the two have the same words; such a pair is listed both ways."""
    row_of: Int64
    """The row of each text."""


def nested_texts(rows: Sequence[TextRow]) -> Nested:
    """All pairs of texts of which one contains the other.

    A text of a pair counts by itself from 8 words on. A pair of shorter texts counts as one text.

    >>> found = nested_texts([("what a dull film",), ("dull film",), ("A dull film!",)])
    >>> sorted(zip(found.inner.tolist(), found.outer.tolist(), strict=True))
    [(1, 0), (1, 2), (2, 0)]
    """
    texts, row_of = [], []
    for row, given in enumerate(rows):
        found = _compared(given)
        texts += found
        row_of += [row] * len(found)
    return _nested(texts, np.array(row_of, dtype=np.int64))


def _compared(row: TextRow) -> list[list[str]]:
    """The words of the texts by which a row is compared: of a pair, long ones, or both as one."""
    found = [bare_words(text) for text in row]
    if len(row) > 1:
        long = [words for words in found if len(words) >= LONG_TEXT_WORDS]
        found = long or [bare_words(joined(row))]
    return [words for words in found if words]


def _nested(texts: Sequence[Sequence[str]], row_of: Int64) -> Nested:
    """A run of ℓ words from i on has the hash B⁻ⁱ Σ_j c(w_{i+j}) Bⁱ⁺ʲ (mod 2⁶⁴), wherever it is."""
    line = _Line(texts)
    pairs = [np.empty(0, np.int64)]
    keys = np.minimum(line.lengths, _KEY_WORDS)
    for length in np.unique(keys):
        inner, outer = line.places_of(np.flatnonzero(keys == length), int(length))
        apart = row_of[inner] != row_of[outer]
        # A text may be in another twice.
        pairs.append(np.unique(inner[apart] * len(texts) + outer[apart]))
    inner, outer = np.divmod(np.concatenate(pairs), max(1, len(texts)))
    return Nested(inner, outer, line.lengths[inner] == line.lengths[outer], row_of)


class _Line:
    """All texts in one line of words, with hashes of its runs."""

    def __init__(self, texts: Sequence[Sequence[str]]) -> None:
        vocabulary: defaultdict[str, int] = defaultdict(count().__next__)
        words = [vocabulary[word] for text in texts for word in text]
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
