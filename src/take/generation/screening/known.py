"""The rows of one split as what candidates must not copy: word for word, nearly, or in meaning."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import pandas as pd

from take.encoder.embeddings import Embeddings
from take.generation.screening.settings import ScreeningSettings
from take.rows.pairs import nearest_by_cosine
from take.text.normalise import TextRow, joined, n_words, row_key, text_key, text_rows, words
from take.text.overlap import OverlapIndex

Details = list[str | None]
"""For each candidate what it copies, or nothing."""


class KnownRows:
    """The rows of one split.

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
        """The index of single texts of pairs, each once, and the rows they first stand in."""
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
        whole = [
            index
            for index, row in enumerate(candidates)
            if n_words(row) >= self._settings.near_copy_words
        ]
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
        is_long = [n_words(row) >= self._settings.near_copy_words for row in candidates]
        is_near = np.array(is_long, dtype=np.bool_) & (found.value >= threshold)
        return [
            f"{self.name} row {self._ids[row]}, cosine {value:.2f}" if near else None
            for near, row, value in zip(is_near, found.row, found.value, strict=True)
        ]

    def _long_texts(self, row: TextRow) -> list[str]:
        if len(row) == 1:
            return []  # the whole row
        return [text for text in row if len(words(text)) >= self._settings.verbatim_words]
