"""Reference texts that share words with a text: the exact overlap index, and near copies by it.

The index is written by hand: no library finds all pairs above a Jaccard index exactly, without
comparing every text with every other.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from take.rows.arrays import Int64
from take.rows.blocks import block_bounds
from take.rows.pairs import Matches, Pairs
from take.rows.random import mixed
from take.text.normalise import bare_words

# ℓ below. A larger one makes prefixes longer and pairs fewer; of 2, 3 and 4, 2 was fastest on
# 400,000 sentences.
_PREFIX_MATCHES = 2
_PRODUCT_ENTRIES = 4_000_000
"""Entries of a sparse product in memory at a time."""
_BOUNDARY = 0
_LONG_WORDS, _SHORT_OVERLAP = 5, 0.8
"""Where the longer of two texts has fewer words, near copies need this Jaccard index."""
_SHORT_WORDS = 3
"""Texts of fewer words are never near copies."""
_BLOCK_TEXTS = 50_000
"""Texts of which n-grams are found at a time: bounds memory beyond the index itself."""
_FEW_TEXTS = 1000
"""A corpus of fewer texts counts as so many: the share of them with a word says little."""


class OverlapIndex:
    """Reference texts by their word n-grams.

    The overlap of two texts is the Jaccard index of their n-grams as multisets,

        J(x, y) = |x ∩ y| / |x ∪ y|,

    found exactly where it is at least `floor`. With n = 1 it is blind to the order of words: that
    is what catches a copy whose clauses were swapped. With n > 1, n-grams reach over both ends of
    a text, so that a text shorter than n has some.

    If J ≥ t then |x ∩ y| ≥ t·|x|. Let all sets be sorted alike, and drop the last ⌈t·|x|⌉ − ℓ of
    each: what remains of x and y still shares ℓ members, whichever the others are (prefix
    filtering; Chaudhuri et al. 2006, Wang et al. 2012). Sorted by rarity, it is the frequent words
    that go, and a sparse product over the rest yields few pairs to compare in full.

    >>> index = OverlapIndex(["a dull film about a dull war", "two hours well spent"], floor=0.5)
    >>> best = index.best(["A film about a war, dull, dull!", "an hour well spent", "no"])
    >>> best.row.tolist(), best.value.round(2).tolist()
    ([0, -1, -1], [1.0, 0.0, 0.0])
    """

    def __init__(self, texts: Sequence[str], floor: float, n: int = 1) -> None:
        if not 0 < floor <= 1 or n < 1:
            raise ValueError(f"floor is {floor}, n is {n}; floor must be in (0, 1] and n ≥ 1")
        self.floor = floor
        self.n = n
        self._vocabulary: defaultdict[str, int] = defaultdict(count(_BOUNDARY + 1).__next__)
        self.sizes: Int64
        """How many n-grams each reference text has."""
        number = self._vocabulary.__getitem__
        bounds = list(block_bounds(len(texts), _BLOCK_TEXTS))
        parts = [self._shingles(texts[start:stop], number) for start, stop in bounds]
        self.sizes = np.concatenate([np.empty(0, np.int64), *(sizes for _, sizes in parts)])
        shingles = np.concatenate([np.empty(0, np.uint64), *(shingle for shingle, _ in parts)])
        del parts
        self._known, frequency = np.unique(shingles, return_counts=True)
        self._rarity = np.empty(len(self._known), dtype=np.int32)
        self._rarity[np.argsort(frequency, kind="stable")] = np.arange(len(self._known))
        self._rows = self._reference_sets(shingles, bounds)
        prefixes = _heads(self._rows, self._prefix_lengths(self.sizes))
        self._prefixes = prefixes.T.tocsr()

    def best(self, texts: Sequence[str]) -> Matches:
        """The reference text each text overlaps most; the first of equals; none below `floor`."""
        return self.pairs(texts).best(len(texts))

    def pairs(self, texts: Sequence[str]) -> Pairs:
        """All reference texts that each text overlaps by `floor` or more."""
        shingle, sizes = self._shingles(texts, lambda word: self._vocabulary.get(word, -1))
        row = np.repeat(np.arange(len(texts)), sizes)
        is_known = np.isin(shingle, self._known)
        column = self._rarity[np.searchsorted(self._known, shingle[is_known])]
        queries = _sets(row[is_known], column, (len(texts), len(self._known)))
        # A shingle no reference text has is the rarest of all: it takes a place in the prefix.
        unknown = sizes - np.diff(queries.indptr)
        prefixes = _heads(queries, np.maximum(self._prefix_lengths(sizes) - unknown, 0))
        work = prefixes @ np.diff(self._prefixes.indptr)
        return Pairs.concatenated(
            [
                self._compare(i, queries[i:j], prefixes[i:j], sizes[i:j])
                for i, j in _even_work(work, _PRODUCT_ENTRIES)
            ]
        )

    def texts_with(self) -> Int64:
        """How many reference texts contain each word, by its number; of an index of words."""
        first = np.zeros(len(self._vocabulary) + 1, dtype=np.uint64)
        first[1:] = mixed(mixed(np.arange(1, len(first), dtype=np.uint64)))
        place = np.minimum(np.searchsorted(self._known, first), max(0, len(self._known) - 1))
        counts = np.bincount(self._rows.indices, minlength=len(self._known))
        found: Int64 = np.zeros(len(first), dtype=np.int64)
        if len(self._known):
            is_known = self._known[place] == first
            found[is_known] = counts[self._rarity[place[is_known]]]
        return found

    def number(self, word: str) -> int:
        """The number of a word of the reference."""
        return self._vocabulary[word]

    def _reference_sets(self, shingles: NDArray[np.uint64], bounds: list[tuple[int, int]]) -> Any:
        """The sets of all reference texts, made a block of texts at a time."""
        from scipy.sparse import csr_matrix

        ends = np.concatenate([[0], np.cumsum(self.sizes)])
        shape = len(self.sizes), len(self._known)
        columns = np.empty(len(shingles), dtype=np.int32)
        for start, stop in bounds:
            part = slice(ends[start], ends[stop])
            column = self._rarity[np.searchsorted(self._known, shingles[part])]
            row = np.repeat(np.arange(stop - start), self.sizes[start:stop])
            columns[part] = _sets(row, column, (stop - start, shape[1])).indices
        # Two bytes: queries have four, and so have the products.
        return csr_matrix((np.ones(len(columns), dtype=np.int16), columns, ends), shape=shape)

    def _compare(self, start: int, queries: Any, prefixes: Any, sizes: Int64) -> Pairs:
        product = (prefixes @ self._prefixes).tocoo()
        query, row = product.row.astype(np.int64), product.col.astype(np.int64)
        needed = np.minimum(_PREFIX_MATCHES, self._least_shared(sizes))[query]
        needed = np.minimum(needed, self._least_shared(self.sizes[row]))
        shorter = np.minimum(sizes[query], self.sizes[row])
        longer = np.maximum(sizes[query], self.sizes[row])
        hopeful = (product.data >= needed) & (shorter >= self.floor * longer - 1e-9)
        query, row = query[hopeful], row[hopeful]
        shared = np.zeros(len(query), dtype=np.int64)
        for i, j in _even_work(sizes[query], _PRODUCT_ENTRIES):
            both = queries[query[i:j]].multiply(self._rows[row[i:j]])
            shared[i:j] = np.asarray(both.sum(axis=1)).ravel()
        value = shared / (sizes[query] + self.sizes[row] - shared)
        alike = value >= self.floor
        return Pairs(query[alike] + start, row[alike], value[alike])

    def _least_shared(self, sizes: Int64) -> Int64:
        # Less a little: 0.7 · 10 is 7.000000000000001 to a float.
        least: Int64 = np.ceil(self.floor * sizes - 1e-9).astype(np.int64)
        return least

    def _prefix_lengths(self, sizes: Int64) -> Int64:
        lengths: Int64 = np.minimum(sizes, sizes - self._least_shared(sizes) + _PREFIX_MATCHES)
        return lengths

    def _shingles(
        self, texts: Sequence[str], number: Callable[[str], int]
    ) -> tuple[NDArray[np.uint64], Int64]:
        """The hash of each n-gram, row by row, and the number of n-grams of each row.

        The second, third … occurrence in a row is hashed apart: that makes multisets of sets.
        """
        padding = [_BOUNDARY] * (self.n - 1)
        numbers = array("q")
        lengths = np.empty(len(texts), dtype=np.int64)
        for index, text in enumerate(texts):
            found = [*padding, *map(number, bare_words(text)), *padding]
            numbers.extend(found)
            lengths[index] = len(found)
        flat = np.array(numbers, dtype=np.int64).astype(np.uint64)
        sizes = np.where(lengths > 2 * len(padding), lengths - len(padding), 0)
        starts = np.cumsum(lengths) - lengths
        row = np.repeat(np.arange(len(texts)), sizes)
        place = np.arange(len(row)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        place += np.repeat(starts, sizes)
        shingle = np.zeros(len(row), dtype=np.uint64)
        for offset in range(self.n):
            shingle = mixed(shingle + flat[place + offset])
        order = np.lexsort((shingle, row))
        row, shingle = row[order], shingle[order]
        is_first = np.ones(len(row), dtype=np.bool_)
        is_first[1:] = (row[1:] != row[:-1]) | (shingle[1:] != shingle[:-1])
        first = np.flatnonzero(is_first)
        repeat = np.arange(len(row)) - np.repeat(first, np.diff(np.append(first, len(row))))
        return mixed(shingle + repeat.astype(np.uint64)), sizes


def _sets(row: Int64, column: NDArray[Any], shape: tuple[int, int]) -> Any:
    """Rows of a sparse 0/1 matrix, each with its columns in order."""
    from scipy.sparse import csr_matrix

    order = np.lexsort((column, row))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=shape[0]))])
    ones = np.ones(len(row), dtype=np.int32)
    return csr_matrix((ones, column[order].astype(np.int32), indptr), shape=shape)


def _heads(rows: Any, lengths: Int64) -> Any:
    """The first columns of each row of a sparse matrix, `lengths` of them."""
    from scipy.sparse import csr_matrix

    sizes = np.diff(rows.indptr)
    kept = np.minimum(lengths, sizes)
    place = np.arange(rows.nnz) - np.repeat(rows.indptr[:-1], sizes)
    chosen = place < np.repeat(kept, sizes)
    indptr = np.concatenate([[0], np.cumsum(kept)])
    return csr_matrix((rows.data[chosen], rows.indices[chosen], indptr), shape=rows.shape)


def _even_work(work: Int64, most: int) -> Iterator[tuple[int, int]]:
    """Bounds of runs of rows whose work adds up to about `most`; a row is never divided.

    >>> list(_even_work(np.array([5, 5, 5, 30, 1]), 10))
    [(0, 2), (2, 3), (3, 4), (4, 5)]
    """
    done = np.concatenate([[0], np.cumsum(work)])
    start = 0
    while start < len(work):
        stop = int(np.searchsorted(done, done[start] + most, side="right")) - 1
        stop = max(stop, start + 1)
        yield start, stop
        start = stop


class NearTexts:
    """Reference texts, searched for those that share nearly all words with another text.

    If d_w of N texts contain word w and words occur independently, Π_w d_w / N is the share of
    texts that contain a set of words by chance. "A piece of work" and "a fine piece of work" have
    much in common with each other, and with half the corpus. So the words that two texts share must
    be expected in fewer than `chance_rows` texts:

        N Π_w (d_w / N) < chance_rows.

    Near copies have at least `overlap` as the Jaccard index of their words.

    >>> texts = ["a fine piece of work"] * 400 + ["our dog sat on that mat"]
    >>> near = NearTexts(texts, overlap=0.65, chance_rows=0.05)
    >>> near.pairs(["a bad piece of work", "our cat sat on that mat"]).row.tolist()
    [400]
    """

    def __init__(self, texts: Sequence[str], overlap: float, chance_rows: float) -> None:
        self._overlap, self._chance_rows = overlap, chance_rows
        self._texts = texts
        self._index = OverlapIndex(texts, min(overlap, _SHORT_OVERLAP))
        self._texts_with = self._index.texts_with()

    def pairs(self, texts: Sequence[str]) -> Pairs:
        """All pairs of a text and a reference text that are nearly the same."""
        found = self._index.pairs(texts)
        sizes = np.array([len(bare_words(text)) for text in texts], dtype=np.int64)
        longer = np.maximum(sizes[found.query], self._index.sizes[found.row])
        needed = np.where(longer >= _LONG_WORDS, self._overlap, _SHORT_OVERLAP)
        is_near = (found.value >= needed) & (longer >= _SHORT_WORDS)
        for place in np.flatnonzero(is_near):
            is_near[place] = self._is_specific(
                texts[found.query[place]], self._texts[found.row[place]]
            )
        return Pairs(found.query[is_near], found.row[is_near], found.value[is_near])

    def _is_specific(self, ours: str, theirs: str) -> bool:
        shared = Counter(bare_words(ours)) & Counter(bare_words(theirs))
        n_texts = max(len(self._texts), _FEW_TEXTS)
        chance = sum(
            times * log(self._texts_with[self._index.number(word)] / n_texts)
            for word, times in shared.items()
        )
        return log(n_texts) + chance < log(self._chance_rows)
