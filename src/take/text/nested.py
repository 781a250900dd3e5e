"""Texts of a corpus that contain one another: the words of one are a run of the other's.

Rows with such texts have one origin: in sst2 a sentence and its phrases, in mnli a premise with its
hypotheses. Splits keep them on one side (`take.text.related`), and the privacy gate does not count
them as copies of each other (`take.audit.privacy.real_rows`).
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
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
    row_of = array("q")

    def texts() -> Iterator[list[str]]:
        for row, given in enumerate(rows):
            for words in _compared(given):
                row_of.append(row)
                yield words

    line = _Line(texts())
    return _nested(line, np.array(row_of, dtype=np.int64))


def _compared(row: TextRow) -> list[list[str]]:
    """The words of the texts by which a row is compared: of a pair, long ones, or both as one."""
    found = [bare_words(text) for text in row]
    if len(row) > 1:
        long = [words for words in found if len(words) >= LONG_TEXT_WORDS]
        found = long or [bare_words(joined(row))]
    return [words for words in found if words]


def _nested(line: _Line, row_of: Int64) -> Nested:
    """A run of ℓ words from i on has the hash B⁻ⁱ Σ_j c(w_{i+j}) Bⁱ⁺ʲ (mod 2⁶⁴), wherever it is."""
    n_texts = len(line.lengths)
    pairs = [np.empty(0, np.int64)]
    keys = np.minimum(line.lengths, _KEY_WORDS)
    for length in np.unique(keys):
        inner, outer = line.places_of(np.flatnonzero(keys == length), int(length))
        apart = row_of[inner] != row_of[outer]
        # A text may be in another twice.
        pairs.append(np.unique(inner[apart] * n_texts + outer[apart]))
    inner, outer = np.divmod(np.concatenate(pairs), max(1, n_texts))
    return Nested(inner, outer, line.lengths[inner] == line.lengths[outer], row_of)


class _Line:
    """All texts in one line of words, with hashes of its runs."""

    def __init__(self, texts: Iterable[Sequence[str]]) -> None:
        vocabulary: defaultdict[str, int] = defaultdict(count().__next__)
        words, lengths = array("Q"), array("q")
        for text in texts:  # not all at once: words as strings take ten times the memory
            words.extend(map(vocabulary.__getitem__, text))
            lengths.append(len(text))
        del vocabulary
        self.lengths = np.array(lengths, dtype=np.int64)
        ends = np.cumsum(self.lengths)
        self._starts = ends - self.lengths
        self._text = np.repeat(np.arange(len(self.lengths), dtype=np.int32), self.lengths)
        sums = mixed(np.frombuffer(words, dtype=np.uint64))
        sums *= _powers(_BASE, len(sums))
        self._sums = np.zeros(len(sums) + 1, dtype=np.uint64)
        np.cumsum(sums, out=self._sums[1:])
        del sums, words
        self._inverses = _powers(pow(_BASE, -1, 2**64), len(self._text))
        # Words from a place to the end of its text.
        places = np.int32 if len(self._text) < 2**31 else np.int64
        self._left = np.repeat(ends.astype(places), self.lengths)
        self._left -= np.arange(len(self._text), dtype=places)

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
        return text, self._text[place].astype(np.int64)

    def _hashes(self, places: Int64, lengths: Int64) -> _Codes:
        sums = self._sums[places + lengths] - self._sums[places]
        hashes: _Codes = sums * self._inverses[places]
        return hashes


def _powers(base: int, n: int) -> _Codes:
    """1, B, B² … (mod 2⁶⁴)."""
    factors = np.full(n, base, dtype=np.uint64)
    factors[:1] = 1
    powers: _Codes = np.cumprod(factors, out=factors)
    return powers
