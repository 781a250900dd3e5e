"""Texts that go round in circles: a phrase or a character back to back, again and again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from take.generation.screening.settings import ScreeningSettings
from take.text.normalise import words

_LONGEST_PHRASE = 4
_RUN = re.compile(r"(\S)\1+")


def phrase_repeats(text: str) -> int:
    """How often some phrase of 1 … 4 words stands in a row, at most.

    >>> phrase_repeats("a very, very, very good film"), phrase_repeats("so it goes so it goes")
    (3, 2)
    """
    found = words(text)
    most = min(1, len(found))
    for length in range(1, _LONGEST_PHRASE + 1):
        # A phrase repeated r times is a run of (r − 1)·length words equal to the one `length` back.
        run = 0
        for word, earlier in zip(found[length:], found, strict=False):
            run = run + 1 if word == earlier else 0
            most = max(most, 1 + run // length)
    return most


def character_repeats(text: str) -> int:
    """How often some character that is no blank stands in a row, at most.

    >>> character_repeats("whaaaat?!!"), character_repeats("")
    (4, 0)
    """
    return max((len(run.group()) for run in _RUN.finditer(text)), default=min(1, len(text)))


@dataclass(frozen=True)
class LoopBounds:
    """From how many repeats on a text is a loop."""

    phrase: int
    character: int

    @classmethod
    def learn(cls, texts: Sequence[str], settings: ScreeningSettings) -> LoopBounds:
        """The bounds of the settings, raised above what the corpus itself does.

        IMDb's reviewers write "..........": 1.5 % of them repeat a character 7 times or more.
        """
        usual = 1 - settings.corpus_tail
        learned = [
            int(np.quantile([measure(text) for text in texts], usual, method="higher")) + 1
            for measure in (phrase_repeats, character_repeats)
        ]
        return cls(
            max(settings.loop_repeats, learned[0]), max(settings.loop_characters, learned[1])
        )

    def problem(self, text: str) -> str | None:
        """What is wrong with a text, or nothing."""
        if (repeats := phrase_repeats(text)) >= self.phrase:
            return f"a phrase {repeats} times in a row"
        if (repeats := character_repeats(text)) >= self.character:
            return f"a character {repeats} times in a row"
        return None
