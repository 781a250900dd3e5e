"""Whether a candidate copies a row of a split, or repeats a row that was kept before it.

A copy is found word for word, by the overlap of words, or by the cosine of embeddings.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from take.encoder.embeddings import Embeddings, MappedVectors
from take.generation.screening.reasons import Reason, ScreeningSettings, Verdict
from take.rows.arrays import Float32, Float64
from take.rows.blocks import block_bounds
from take.rows.pairs import Pairs, nearest_by_cosine, pairs_by_cosine
from take.text.normalise import TextRow, joined, n_words, row_key, text_key, text_rows, words
from take.text.overlap import OverlapIndex

Details = list[str | None]
"""For each candidate which row it copies, or None."""

_LEAST_WORDS = 6
"""Shorter rows are copies only if they are equal."""
_BLOCK_ROWS = 1024
"""Candidates compared with one another at a time: bounds memory, does not change a verdict."""


class KnownRows:
    """The rows of one split, which candidates must not copy.

    >>> rows = pd.DataFrame({"id": ["3f2a"], "text": ["a dull film about a long war"]})
    >>> known = KnownRows("train", rows, ["text"], ScreeningSettings())
    >>> known.copied([("A DULL film about a long war!",), ("a dull war",)])
    ['train row 3f2a', None]
    >>> known.overlapped([("a dull film about the long war",)])
    ['train row 3f2a, Jaccard 0.75']
    """

    def __init__(
        self, name: str, rows: pd.DataFrame, columns: Sequence[str], settings: ScreeningSettings
    ) -> None:
        self.name = name
        self._ids: list[str] = rows["id"].tolist()
        self.rows = text_rows(rows, columns)
        self._settings = settings
        self._by_key: dict[str, int] = {}
        self._by_long_text: dict[str, int] = {}
        for index, row in enumerate(self.rows):
            if all(map(text_key, row)):
                self._by_key.setdefault(row_key(row), index)
            for text in self._long_texts(row):
                self._by_long_text.setdefault(text_key(text), index)

    @cached_property
    def _overlap(self) -> OverlapIndex:
        return OverlapIndex([joined(row) for row in self.rows], self._settings.near_copy_overlap)

    @cached_property
    def _long_text_overlap(self) -> tuple[OverlapIndex, list[int]]:
        """An index of the single texts of pairs, each once, and the first row of each."""
        first: dict[str, int] = {}
        for index, row in enumerate(self.rows):
            for text in self._long_texts(row):
                first.setdefault(text, index)
        return OverlapIndex(list(first), self._settings.near_copy_overlap), list(first.values())

    def copied(self, candidates: Sequence[TextRow]) -> Details:
        """Which rows are copied word for word: as a whole, or in one long text of a pair."""
        return [self._copied(row) for row in candidates]

    def _copied(self, row: TextRow) -> str | None:
        if (index := self._by_key.get(row_key(row))) is not None:
            return f"{self.name} row {self._ids[index]}"
        for text in self._long_texts(row):
            if (index := self._by_long_text.get(text_key(text))) is not None:
                return f"{self.name} row {self._ids[index]}, one text"
        return None

    def overlapped(self, candidates: Sequence[TextRow]) -> Details:
        """Which rows share nearly all their words: as a whole, or in one long text of a pair."""
        details: Details = [None] * len(candidates)
        whole = [index for index, row in enumerate(candidates) if n_words(row) >= _LEAST_WORDS]
        found = self._overlap.best([joined(candidates[index]) for index in whole])
        for index, row, value in zip(whole, found.row, found.value, strict=True):
            if row >= 0:
                details[index] = f"{self.name} row {self._ids[row]}, Jaccard {value:.2f}"

        parts = [
            (index, text)
            for index, candidate in enumerate(candidates)
            for text in self._long_texts(candidate)
            if details[index] is None
        ]
        if parts:
            overlap, first_rows = self._long_text_overlap
            found = overlap.best([text for _, text in parts])
            for (index, _), row, value in zip(parts, found.row, found.value, strict=True):
                if row >= 0 and details[index] is None:
                    known = self._ids[first_rows[row]]
                    details[index] = f"{self.name} row {known}, one text, Jaccard {value:.2f}"
        return details

    def resembled(
        self, candidates: Sequence[TextRow], embedded: Embeddings, known: Embeddings
    ) -> Details:
        """Which rows are near by their embeddings."""
        threshold = self._settings.near_copy_cosine
        if threshold is None:
            return [None] * len(candidates)
        found = nearest_by_cosine(embedded, known)
        is_long = [n_words(row) >= _LEAST_WORDS for row in candidates]
        is_near = np.array(is_long, dtype=np.bool_) & (found.value >= threshold)
        return [
            f"{self.name} row {self._ids[row]}, cosine {value:.2f}" if near else None
            for near, row, value in zip(is_near, found.row, found.value, strict=True)
        ]

    def _long_texts(self, row: TextRow) -> list[str]:
        if len(row) == 1:
            return []  # the whole row
        return [text for text in row if len(words(text)) >= self._settings.verbatim_words]


@dataclass(frozen=True)
class Candidate:
    """A row that may be kept, and what is known of it without regard to the other candidates."""

    name: str
    row: TextRow
    label: int = 0
    copy: Verdict | None = None
    """Whether it copies train or evaluation rows."""
    vectors: Float32 | None = None
    """(texts, d), if it was embedded."""
    probabilities: Float64 | None = None
    """The probe's, of each class."""
    contradiction: Verdict | None = None


class KeptRows:
    """The rows kept so far, in order.

    >>> kept = KeptRows(ScreeningSettings())
    >>> rows = [Candidate("good 0", ("What a film!",)), Candidate("bad 0", ("what a film",))]
    >>> [verdict and verdict[1] for verdict in kept.decide(rows)]
    [None, 'kept good 0']
    """

    def __init__(self, settings: ScreeningSettings) -> None:
        self._settings = settings
        self._names: list[str] = []
        self._texts: list[str] = []
        self._vectors: list[Float32] = []
        self._by_key: dict[str, str] = {}

    def holds(self, row: TextRow) -> bool:
        """Whether a kept row equals this one but for case, blanks and punctuation."""
        return row_key(row) in self._by_key

    def decide(
        self, candidates: Sequence[Candidate], room: Mapping[int, int] | None = None
    ) -> Iterator[Verdict | None]:
        """Why each row is dropped, or None if it is kept; later rows are compared with it then.

        `room` is how many more rows of each class are wanted; without it, all are.
        """
        left = None if room is None else Counter(room)
        for start, stop in block_bounds(len(candidates), _BLOCK_ROWS):
            yield from self._decide_block(candidates[start:stop], left)

    def _decide_block(
        self, candidates: Sequence[Candidate], left: Counter[int] | None
    ) -> Iterator[Verdict | None]:
        # Whether a row repeats another depends on whether that other one was kept. So neighbours
        # are found for the whole block, and used row by row. Places count the kept rows first.
        original = [each for each in candidates if each.copy is None]
        names = [*self._names, *(each.name for each in original)]
        place = len(self._names)
        neighbours = self._neighbours(original)
        dropped: set[int] = set()
        for each in candidates:
            verdict = self._duplicate(each) or each.copy
            if each.copy is None:
                if verdict is None:
                    verdict = next(
                        (
                            (Reason.NEAR_DUPLICATE, f"kept {names[near]}, {how}")
                            for near, how in neighbours.get(place, ())
                            if near not in dropped
                        ),
                        each.contradiction,
                    )
                if verdict is None and left is not None and not left[each.label]:
                    verdict = (Reason.SURPLUS, "its class has its share")
                if verdict is None:
                    self._keep(each)
                    if left is not None:
                        left[each.label] -= 1
                else:
                    dropped.add(place)
                place += 1
            yield verdict

    def _duplicate(self, candidate: Candidate) -> Verdict | None:
        name = self._by_key.get(row_key(candidate.row))
        return None if name is None else (Reason.DUPLICATE, f"kept {name}")

    def _keep(self, candidate: Candidate) -> None:
        self._names.append(candidate.name)
        self._texts.append(joined(candidate.row))
        self._by_key[row_key(candidate.row)] = candidate.name
        if candidate.vectors is not None:
            self._vectors.append(candidate.vectors)

    def _neighbours(self, candidates: Sequence[Candidate]) -> dict[int, list[tuple[int, str]]]:
        """By place: the earlier places with similar rows, most similar first, and how similar."""
        n_kept = len(self._texts)
        queries = [i for i, each in enumerate(candidates) if n_words(each.row) >= _LEAST_WORDS]
        texts = [*self._texts, *(joined(each.row) for each in candidates)]
        index = OverlapIndex(texts, self._settings.near_copy_overlap)
        found = {"Jaccard": index.pairs([texts[n_kept + query] for query in queries])}
        if self._settings.near_copy_cosine is not None:
            found["cosine"] = self._near_by_cosine(candidates, queries)

        near: defaultdict[int, list[tuple[float, int, str]]] = defaultdict(list)
        for measure, pairs in found.items():
            for query, row, value in zip(pairs.query, pairs.row, pairs.value, strict=True):
                place = n_kept + queries[query]
                if row < place:
                    near[place].append((-value, int(row), f"{measure} {value:.2f}"))
        return {place: [(row, how) for _, row, how in sorted(near[place])] for place in near}

    def _near_by_cosine(self, candidates: Sequence[Candidate], queries: Sequence[int]) -> Pairs:
        # Rows that equal a kept one are not embedded: they are dropped whatever their vector.
        known = [*self._vectors, *(c.vectors for c in candidates if c.vectors is not None)]
        nothing = np.zeros_like(known[0]) if known else np.zeros((1, 1), dtype=np.float32)
        vectors = [nothing if c.vectors is None else c.vectors for c in candidates]
        threshold = self._settings.near_copy_cosine or 0.0
        return pairs_by_cosine(
            _embeddings([vectors[query] for query in queries], nothing),
            _embeddings([*self._vectors, *vectors], nothing),
            threshold,
        )


def _embeddings(vectors: Sequence[Float32], like: Float32) -> Embeddings:
    """Rows of vectors, each of the shape of `like`."""
    n_texts, dimension = like.shape
    strings = np.stack(vectors) if vectors else np.empty((0, n_texts, dimension), dtype=np.float32)
    rows = np.arange(len(vectors) * n_texts, dtype=np.int64).reshape(-1, n_texts)
    return Embeddings(MappedVectors(strings.reshape(-1, dimension)), rows)
