"""Runs of words that a text shares with some reference row, however different the rest of it is.

Every seed (a run of a few words) of the queries is looked up in all reference rows, and what
matches is extended both ways. A phrase that occurs in many rows says nothing about one of them:
it can be part of a run, but cannot make one.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import count

import numpy as np
from numpy.typing import NDArray

from take.rows.arrays import Int32, Int64
from take.rows.blocks import block_bounds
from take.rows.pairs import Pairs
from take.rows.random import mixed
from take.text.normalise import TextRow, bare_words

# A text of the reference ends in the one and a text of the queries in the other, so that no run
# goes beyond either. Numbers of words start at 1; a word no reference text has is `_NO_WORD` too.
_END_OF_TEXT = 0
_NO_WORD = -1
_BLOCK_WORDS = 2_000_000
_ODD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class SharedRuns:
    """Runs of words that a query and a reference row share, by query, row and place.

    A run is as long as it can be. Of a query and a row there may be several.
    """

    query: Int64
    row: Int64
    text: Int64
    """Which of the query's texts contains it."""
    start: Int64
    """The run's first word, counted within that text."""
    n_words: Int64
    n_queries: int

    def longest(self) -> Int64:
        """The longest run of each query, as a place in these arrays; −1 where there is none."""
        order = np.lexsort((self.start, self.row, -self.n_words, self.query))
        query, first = np.unique(self.query[order], return_index=True)
        places = np.full(self.n_queries, -1, dtype=np.int64)
        places[query] = order[first]
        return places

    def covered(self) -> Pairs:
        """How many words of a query are in runs that it shares with a row, each counted once."""
        order = np.lexsort((self.start, self.text, self.row, self.query))
        group = np.stack([self.query[order], self.row[order]])
        is_first = np.ones(len(order), dtype=np.bool_)
        is_first[1:] = (group[:, 1:] != group[:, :-1]).any(axis=0)
        # One line of words for all: each query and row, and each text of it, has a stretch of its
        # own, so that the furthest word reached so far never reaches into the next.
        stretch = int((self.start + self.n_words).max(initial=0)) + 1
        n_texts = int(self.text.max(initial=0)) + 1
        place = (np.cumsum(is_first) * n_texts + self.text[order]) * stretch + self.start[order]
        end = place + self.n_words[order]
        reached = np.concatenate([[0], np.maximum.accumulate(end)[:-1]]) if len(end) else end
        gained = np.maximum(end - np.maximum(place, reached), 0)
        firsts = np.flatnonzero(is_first)
        total = np.add.reduceat(gained, firsts) if len(firsts) else gained
        return Pairs(group[0, firsts], group[1, firsts], total.astype(np.float64))


@dataclass(frozen=True)
class _Line:
    """All words of all rows as numbers in one line, with an end after each text."""

    words: Int32
    text_starts: Int64
    row_of_text: Int64
    texts_per_row: int

    def text_at(self, place: Int64) -> Int64:
        found: Int64 = np.searchsorted(self.text_starts, place, side="right") - 1
        return found

    def row_at(self, place: Int64) -> Int64:
        return self.row_of_text[self.text_at(place)]


class SpanIndex:
    """Reference rows by the runs of words they contain.

    A run that a query shares with a row counts if enough of its words are outside common phrases,
    which are seeds that occur in more than `common_rows` rows: half of them, or half of
    `span_words` if that is less. So a cliché within a copied sentence does no harm, and boilerplate
    with one more word is still boilerplate. Rows of `others` count for what is common, and are not
    searched for.

    >>> rows = [("the cat sat on the mat and looked at us",), ("no dog ever did that",)]
    >>> runs = SpanIndex(rows).runs([("Once, a cat sat on the MAT and went",)])
    >>> runs.row.tolist(), runs.start.tolist(), runs.n_words.tolist()
    ([0], [2], [6])
    """

    def __init__(
        self,
        rows: Sequence[TextRow],
        seed_words: int = 5,
        common_rows: int = 20,
        span_words: int = 10,
        others: Sequence[TextRow] = (),
    ) -> None:
        if seed_words < 1 or common_rows < 1 or span_words < seed_words:
            raise ValueError(
                f"seed_words is {seed_words}, common_rows {common_rows}, span_words {span_words}; "
                "all must be ≥ 1 and a span no shorter than its seed"
            )
        self.seed_words = seed_words
        self.common_rows = common_rows
        self.span_words = span_words
        self._vocabulary: defaultdict[str, int] = defaultdict(count(1).__next__)
        self._n_rows = len(rows)
        self._reference = _line([*rows, *others], self._vocabulary.__getitem__, _END_OF_TEXT)
        # Two words at one place of a seed must not hash like two others: no sums of small numbers.
        self._codes = mixed(np.arange(len(self._vocabulary) + 1, dtype=np.uint64))

    def runs(self, queries: Sequence[TextRow]) -> SharedRuns:
        """All runs of `seed_words` or more that count, with each reference row."""
        line = _line(queries, lambda word: self._vocabulary.get(word, _NO_WORD), _NO_WORD)
        q_place, q_seed = self._seeds(line.words)
        order = np.argsort(q_seed, kind="stable")
        q_place = q_place[order]
        seeds, first, times = np.unique(q_seed[order], return_index=True, return_counts=True)
        r_place, seed = self._found(seeds)

        # In how many rows each seed occurs.
        n_rows = len(self._reference.row_of_text) + 1
        in_row = np.unique(seed * n_rows + self._reference.row_at(r_place))
        in_rows = np.bincount(in_row // n_rows, minlength=len(seeds))
        is_common = in_rows > self.common_rows
        uncommon = _outside(q_place[np.repeat(is_common, times)], self.seed_words, len(line.words))

        # Each place of a rare seed in the reference with each place of it in the queries.
        is_searched = ~is_common[seed] & (self._reference.row_at(r_place) < self._n_rows)
        r_place, seed = r_place[is_searched], seed[is_searched]
        repeats = times[seed]
        nth = np.arange(repeats.sum()) - np.repeat(np.cumsum(repeats) - repeats, repeats)
        start, n_words, r_start = self._extended(
            line.words, q_place[np.repeat(first[seed], repeats) + nth], np.repeat(r_place, repeats)
        )
        enough = 2 * (uncommon[start + n_words] - uncommon[start])
        counts = enough >= np.minimum(n_words, self.span_words)
        start, n_words, r_start = start[counts], n_words[counts], r_start[counts]

        text = line.text_at(start)
        query, row = line.row_of_text[text], self._reference.row_at(r_start)
        order = np.lexsort((r_start, start, row, query))
        return SharedRuns(
            query=query[order],
            row=row[order],
            text=(text % line.texts_per_row)[order],
            start=(start - line.text_starts[text])[order],
            n_words=n_words[order],
            n_queries=len(queries),
        )

    def _seeds(self, line: Int32) -> tuple[Int64, NDArray[np.uint64]]:
        """Where seeds start, and their hashes; none of them reaches beyond a text."""
        n_seeds = max(0, len(line) - self.seed_words + 1)
        hashes = np.zeros(n_seeds, dtype=np.uint64)
        is_whole = np.ones(n_seeds, dtype=np.bool_)
        for offset in range(self.seed_words):
            part = line[offset : offset + n_seeds]
            hashes = hashes * _ODD + self._codes[np.maximum(part, 0)]
            is_whole &= part > 0
        return np.flatnonzero(is_whole), hashes[is_whole]

    def _found(self, seeds: NDArray[np.uint64]) -> tuple[Int64, Int64]:
        """Where in the reference one of the sorted seeds occurs, and which."""
        places, found = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        line = self._reference.words
        for start, stop in block_bounds(len(line) if len(seeds) else 0, _BLOCK_WORDS):
            place, seed = self._seeds(line[start : stop + self.seed_words - 1])
            index = np.minimum(np.searchsorted(seeds, seed), len(seeds) - 1)
            is_found = seeds[index] == seed
            places.append(place[is_found] + start)
            found.append(index[is_found])
        return np.concatenate(places), np.concatenate(found)

    def _extended(self, line: Int32, query: Int64, reference: Int64) -> tuple[Int64, Int64, Int64]:
        """The runs around matching seeds: start among the queries, length, start in the reference.

        Of seeds that follow each other on both sides only the first is extended; runs found twice,
        because a common seed was between two rare ones, are reported once.
        """
        theirs = self._reference.words
        order = np.lexsort((query, query - reference))
        query, reference = query[order], reference[order]
        is_first = np.ones(len(query), dtype=np.bool_)
        is_first[1:] = (np.diff(query) != 1) | (np.diff(reference) != 1)
        query, reference = query[is_first], reference[is_first]

        # Index −1 before the first word is the last of all, which is an end: ends never match.
        def reach(step: int, begin: int) -> Int64:
            gone = np.full(len(query), begin, dtype=np.int64)
            going = np.arange(len(query))
            while len(going):
                ours = line[query[going] + step * gone[going]]
                going = going[ours == theirs[reference[going] + step * gone[going]]]
                gone[going] += 1
            return gone

        before = reach(-1, 1) - 1
        n_words = before + reach(1, self.seed_words)
        runs = np.unique(np.stack([query - before, n_words, reference - before]), axis=1)
        return runs[0], runs[1], runs[2]


def span_text(text: str, start: int, n_words: int) -> str:
    """The words `start` … of a text as written in it, with their case and punctuation.

    >>> span_text("It's a DULL, dull film -- really!", 2, 3)
    'DULL, dull film'
    """
    places = range(len(text) + 1)
    stop = bisect_right(places, start + n_words, key=lambda k: len(bare_words(text[:k]))) - 1
    begin = bisect_left(places, -n_words, key=lambda k: -len(bare_words(text[k:stop])))
    while begin < stop and not bare_words(text[begin]):
        begin += 1
    while begin < stop and not bare_words(text[stop - 1]):
        stop -= 1
    return text[begin:stop]


def longest_shared_run(ours: TextRow, theirs: TextRow) -> tuple[int, int, int]:
    """Which of our texts, from which word on and how many: the longest run both rows contain.

    >>> longest_shared_run(("a b", "x y z!"), ("Y Z and more", "b"))
    (1, 1, 2)
    """
    best = (0, 0, 0)
    for index, text in enumerate(ours):
        own = bare_words(text)
        matcher = SequenceMatcher(None, autojunk=False)
        matcher.set_seq2(own)
        for other in theirs:
            matcher.set_seq1(bare_words(other))
            match = matcher.find_longest_match()
            if match.size > best[2]:
                best = (index, match.b, match.size)
    return best


def _line(rows: Sequence[TextRow], number: Callable[[str], int], end: int) -> _Line:
    line = array("i")
    lengths = array("q")
    for row in rows:
        for text in row:
            before = len(line)
            line.extend(map(number, bare_words(text)))
            line.append(end)
            lengths.append(len(line) - before)
    n_words = np.array(lengths, dtype=np.int64)
    texts_per_row = len(rows[0]) if rows else 1
    return _Line(
        words=np.array(line, dtype=np.int32),
        text_starts=np.cumsum(n_words) - n_words,
        row_of_text=np.arange(len(n_words)) // texts_per_row,
        texts_per_row=texts_per_row,
    )


def _outside(places: Int64, length: int, n_words: int) -> Int64:
    """How many of the first 0, 1 … words are outside all phrases of that length at these places."""
    open_phrases = np.bincount(places, minlength=n_words + 1)[:-1]
    open_phrases -= np.bincount(places + length, minlength=n_words + 1)[:-1]
    is_outside = np.cumsum(open_phrases) == 0
    return np.concatenate([[0], np.cumsum(is_outside)])
