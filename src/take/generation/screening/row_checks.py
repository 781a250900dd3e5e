"""The checks that need only the row and what is usual in the corpus: form, loops, language.

Language is judged by two signs: letters of scripts that the corpus hardly uses, and too many words
unknown to the corpus. A word that occurs in a single row is unknown to the rest of the corpus, so
the share of such words in corpus texts shows what a new text of the same language looks like.
With u unknown words of n (numbers left out) and ū their share in the whole corpus,

    s = (u + ū) / (n + 1)

shrinks short texts towards ū; texts of one or two words are not judged, they may be names. A text
is foreign if s exceeds both the bound of the settings and the (1 − tail) quantile of s over the
corpus. The bound is needed where rows overlap (the phrases of sst2): there, hardly any word stands
in one row only.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from take.generation.screening.reasons import Reason, ScreeningSettings, Verdict
from take.text.normalise import TextRow, words

_SAMPLE_ROWS = 20_000
"""Rows that bounds are learned from: enough for a quantile of 1 in 1,000."""
_LONGEST_PHRASE = 4
_RUN = re.compile(r"(\S)\1+")
# Scripts with a smaller share of the letters do not count as used: names, quotations.
_RARE_SCRIPT = 0.001
_FEWEST_WORDS = 3


class RowChecks:
    """Form, markers, length, loops, language: in this order."""

    def __init__(
        self,
        rows: Sequence[TextRow],
        markers: Sequence[str],
        token_bounds: tuple[int, int],
        settings: ScreeningSettings,
        most_digits: int | None = None,
    ) -> None:
        # Whole rows, so that both texts of a pair are sampled.
        sample = [text for row in rows[:: -(-len(rows) // _SAMPLE_ROWS)] for text in row]
        self._loops = LoopBounds.learn(sample, settings)
        self._language = CorpusLanguage.learn(rows, sample, settings)
        self._markers = Markers(markers)
        self._token_bounds = token_bounds
        self._number = None if most_digits is None else re.compile(rf"\d{{{most_digits + 1},}}")

    def verdict(self, row: TextRow, finished: bool, tokens: int) -> Verdict | None:
        """Why the row is dropped, or None."""
        if not finished:
            return Reason.TOO_LONG, f"no end within {self._token_bounds[1]} tokens"
        # Pandas has several values for "no text"; none of them is a string.
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
        if self._number is not None and self._number.search(_folded(text)):
            return "a number longer than any of the corpus"
        marker = self._markers.found(text)
        return None if marker is None else f"holds {marker!r}"

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
    """The problem of the first text of the row that fails the check."""
    return next(((reason, detail) for text in row if (detail := check(text))), None)


def _nothing_to_read(text: str) -> str | None:
    return None if any(map(str.isalnum, text)) else "no letter or digit"


class Markers:
    """Strings that no text should hold; recognised in capitals and in full-width letters, too.

    >>> markers = Markers(["<eos>", "[INST]"])
    >>> markers.found("so [inst] it is"), markers.found("3 < 4")
    ('[INST]', None)
    """

    def __init__(self, markers: Sequence[str]) -> None:
        self._markers = {_folded(marker): marker for marker in markers}
        # Gemma has 6,000 markers, and hardly a text has a character that one begins with.
        self._first = {marker[0] for marker in self._markers}

    def found(self, text: str) -> str | None:
        """One that the text holds."""
        folded = _folded(text)
        if self._first.isdisjoint(folded):
            return None
        return next((marker for fold, marker in self._markers.items() if fold in folded), None)


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def phrase_repeats(text: str) -> int:
    """The most repeats in a row of a phrase of 1 … 4 words.

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
    """The most repeats in a row of a character other than a blank.

    >>> character_repeats("whaaaat?!!"), character_repeats("")
    (4, 0)
    """
    return max((len(run.group()) for run in _RUN.finditer(text)), default=min(1, len(text)))


@dataclass(frozen=True)
class LoopBounds:
    """The number of repeats from which on a text is a loop."""

    phrase: int
    character: int

    @classmethod
    def learn(cls, texts: Sequence[str], settings: ScreeningSettings) -> LoopBounds:
        """The bounds of the settings, raised above what is usual in the corpus.

        IMDb's reviewers write "..........": 1.5 % of them repeat a character 7 times or more.
        """
        usual = 1 - settings.corpus_tail
        phrase, character = (
            int(np.quantile([measure(text) for text in texts], usual, method="higher")) + 1
            for measure in (phrase_repeats, character_repeats)
        )
        return cls(max(settings.loop_repeats, phrase), max(settings.loop_characters, character))

    def problem(self, text: str) -> str | None:
        """What is wrong with a text, or None."""
        if (repeats := phrase_repeats(text)) >= self.phrase:
            return f"a phrase {repeats} times in a row"
        if (repeats := character_repeats(text)) >= self.character:
            return f"a character {repeats} times in a row"
        return None


@cache
def script(character: str) -> str:
    """The script of a letter, by the first word of its Unicode name; "" for other characters.

    >>> script("é"), script("ж"), script("電"), script("7")
    ('LATIN', 'CYRILLIC', 'CJK', '')
    """
    if not unicodedata.category(character).startswith("L"):
        return ""
    return unicodedata.name(character, "UNKNOWN").split()[0].split("-")[0]


def script_counts(text: str) -> Counter[str]:
    """How many letters of a text are in each script.

    >>> script_counts("a 電影 2")
    Counter({'CJK': 2, 'LATIN': 1})
    """
    counts = Counter(map(script, unicodedata.normalize("NFKC", text)))
    del counts[""]
    return counts


@dataclass(frozen=True)
class CorpusLanguage:
    """The scripts and words of a corpus."""

    scripts: frozenset[str]
    vocabulary: frozenset[str]
    usual_share: float
    """ū."""
    most_unknown: float
    """The bound on s."""
    most_foreign: float

    @classmethod
    def learn(
        cls, rows: Sequence[TextRow], sample: Sequence[str], settings: ScreeningSettings
    ) -> CorpusLanguage:
        """The words of all rows; scripts and the usual share from a sample of their texts."""
        frequency = Counter(word for row in rows for word in {w for t in row for w in _spelt(t)})
        letters = sum((script_counts(text) for text in sample), Counter[str]())
        spelt = [found for text in sample if len(found := _spelt(text)) >= _FEWEST_WORDS]
        unknown = np.array([sum(frequency[word] == 1 for word in found) for found in spelt])
        length = np.array([len(found) for found in spelt])
        usual = float(unknown.sum() / max(1, length.sum()))
        shares = np.append((unknown + usual) / (length + 1), 0.0)
        learned = float(np.quantile(shares, 1 - settings.corpus_tail, method="higher"))
        return cls(
            scripts=frozenset(
                name for name, n in letters.items() if n >= _RARE_SCRIPT * letters.total()
            ),
            vocabulary=frozenset(frequency),
            usual_share=usual,
            most_unknown=max(settings.unknown_word_share, learned),
            most_foreign=settings.foreign_script_share,
        )

    def problem(self, text: str) -> str | None:
        """What is wrong with a text, or None."""
        letters = script_counts(text)
        foreign = {name: n for name, n in letters.items() if name not in self.scripts}
        share = sum(foreign.values()) / max(1, letters.total())
        if share > self.most_foreign:
            return f"{share:.0%} of the letters are {', '.join(sorted(foreign)).title()}"
        found = _spelt(text)
        unknown = sum(word not in self.vocabulary for word in found)
        smoothed = (unknown + self.usual_share) / (len(found) + 1)
        if len(found) >= _FEWEST_WORDS and smoothed > self.most_unknown:
            return f"{unknown} of {len(found)} words are unknown to the corpus"
        return None


def _spelt(text: str) -> list[str]:
    """The words of a text without numbers, which are the same in many languages."""
    return [word for word in words(text) if not word.isdigit()]
