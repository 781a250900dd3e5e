"""The checks that need nothing but the row itself and what the corpus usually does."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence

from take.generation.screening.language import CorpusLanguage
from take.generation.screening.loops import LoopBounds
from take.generation.screening.reasons import Reason, Verdict
from take.generation.screening.settings import ScreeningSettings
from take.text.normalise import TextRow

_SAMPLE_ROWS = 20_000
"""Rows that the learned bounds are read off: enough for a quantile of 1 in 1,000."""


class SightChecks:
    """Form, markers, length, loops, language: in this order."""

    def __init__(
        self,
        rows: Sequence[TextRow],
        markers: Sequence[str],
        token_bounds: tuple[int, int],
        settings: ScreeningSettings,
        most_digits: int | None = None,
    ) -> None:
        # Whole rows: of a pair's two texts both are to be known.
        sample = [text for row in rows[:: -(-len(rows) // _SAMPLE_ROWS)] for text in row]
        self._loops = LoopBounds.learn(sample, settings)
        self._language = CorpusLanguage.learn(rows, sample, settings)
        self._markers = {_folded(marker): marker for marker in markers}
        self._token_bounds = token_bounds
        self._number = None if most_digits is None else re.compile(rf"\d{{{most_digits + 1},}}")

    def verdict(self, row: TextRow, finished: bool, tokens: int) -> Verdict | None:
        """Why the row is dropped, or nothing."""
        if not finished:
            return Reason.TOO_LONG, f"no end within {self._token_bounds[1]} tokens"
        # Pandas has many ways of writing "no text"; a string is none of them.
        if not all(isinstance(text, str) for text in row):
            return Reason.PARSE_FAILURE, "not in the template's form"
        return (
            _first_problem(Reason.EMPTY, _nothing_to_read, row)
            or _first_problem(Reason.LEAKED_MARKER, self._leaked_marker, row)
            or self._length(tokens)
            or _first_problem(Reason.REPETITION_LOOP, self._loops.problem, row)
            or _first_problem(Reason.WRONG_LANGUAGE, self._language.problem, row)
        )

    def _leaked_marker(self, text: str) -> str | None:
        folded = _folded(text)
        if self._number is not None and self._number.search(folded):
            return "a number longer than any of the corpus"
        return next(
            (f"holds {marker!r}" for fold, marker in self._markers.items() if fold in folded), None
        )

    def _length(self, tokens: int) -> Verdict | None:
        least, most = self._token_bounds
        if tokens < least:
            return Reason.TOO_SHORT, f"{tokens} tokens, at least {least}"
        if tokens > most:
            return Reason.TOO_LONG, f"{tokens} tokens, at most {most}"
        return None


def _first_problem(
    reason: Reason, check: Callable[[str], str | None], row: TextRow
) -> Verdict | None:
    """The first text of the row in which the check finds something wrong."""
    return next(((reason, detail) for text in row if (detail := check(text))), None)


def _nothing_to_read(text: str) -> str | None:
    return None if any(map(str.isalnum, text)) else "no letter or digit"


def _folded(text: str) -> str:
    """A marker is one in capitals and in full-width letters, too."""
    return unicodedata.normalize("NFKC", text).casefold()
