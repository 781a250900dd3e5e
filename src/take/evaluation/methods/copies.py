"""Which rows copy the evaluation split: the one question about it that a method may ask."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from take.rows.labelled import TEXT_COLUMNS, task_of
from take.text.normalise import text_key


class EvaluationCopies:
    """The evaluation split by keys alone; neither its texts nor its labels can be got out of it.

    A copy is a row equal to one of the split but for case, blanks and punctuation; a pair is one
    whichever text comes first. Texts without a letter or digit are copies of nothing.

    >>> split = pd.DataFrame({"id": ["3f2a"], "text": ["A dull film."], "label": [0]})
    >>> EvaluationCopies(split).of([["a grand film", "a DULL film !"]])
    [(1, '3f2a')]
    """

    def __init__(self, evaluation_split: pd.DataFrame) -> None:
        columns = TEXT_COLUMNS[task_of(evaluation_split)]
        texts = [evaluation_split[column].tolist() for column in columns]
        self._ids: dict[tuple[str, ...], str] = {}
        for row, known in zip(zip(*texts, strict=True), evaluation_split["id"], strict=True):
            if (key := _key(row)) is not None:
                self._ids.setdefault(key, known)

    def of(self, texts: Sequence[Sequence[str]]) -> list[tuple[int, str]]:
        """The rows that are copies, each with the id of the evaluation row."""
        keys = (_key(row) for row in zip(*texts, strict=True))
        found = ((row, self._ids.get(key)) for row, key in enumerate(keys) if key is not None)
        return [(row, known) for row, known in found if known is not None]


def _key(row: Sequence[str]) -> tuple[str, ...] | None:
    keys = sorted(map(text_key, row))
    return tuple(keys) if any(keys) else None
