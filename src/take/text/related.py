"""Rows that contain one another, or nearly repeat one another: they stay on one side of a split.

A model that was trained on "a gorgeous , witty film" has seen "witty film". Rows held out from it
are only held out if they neither contain a row it was trained on, nor lie in one, nor nearly repeat
one. Splits by whole families of such rows do not work where rows are phrases: "good" is in a tenth
of a corpus, and links everything to everything. So a split is drawn on one side first, and its
relatives are left out on the other; rows that very many others contain are on no side.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from take.rows.arrays import Int64
from take.text.copies import COMMON_ROWS, LONG_TEXT_WORDS, CopySettings
from take.text.nested import nested_texts
from take.text.normalise import TextRow, bare_words, joined
from take.text.overlap import NearTexts

Mask = NDArray[np.bool_]


class _Nested(NamedTuple):
    """Rows and the rows that contain them; and rows that too many others contain."""

    row: Int64
    container: Int64
    is_common: Mask


class RelatedRows:
    """The rows of a corpus, and which of them belong together.

    Two rows are related if the words of one are a run of the other's, or if they are near copies by
    the privacy gate's rule (`CopySettings`). A text of a pair counts by itself from 8 words on, a
    pair of shorter texts as one. Rows that more than 20 others contain are `common`: they are used
    on no side of a split, and relate to nothing.

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
        found, n_rows = nested_texts(self._rows), len(self._rows)
        # A row is counted once, whichever of its texts contain a text.
        text, container = np.divmod(
            np.unique(found.inner * n_rows + found.row_of[found.outer]), max(1, n_rows)
        )
        is_common = np.zeros(n_rows, dtype=np.bool_)
        is_common[found.row_of[np.flatnonzero(np.bincount(text) > COMMON_ROWS)]] = True
        row = found.row_of[text]
        kept = ~is_common[row] & ~is_common[container]
        return _Nested(row[kept], container[kept], is_common)
