"""Whether a text is in the corpus's language, as far as the corpus itself can tell.

Two signs: letters of scripts that the corpus hardly uses, and too many words it does not know. How
many are too many is learned: a word is unknown to the rest of the corpus if it stands in one row
alone, so the share of such words in each text is what a new text of the same language would show.
With u unknown words of n, numbers aside, and ū their share in the whole corpus,

    s = (u + ū) / (n + 1)

pulls short texts towards ū; of texts of one or two words nothing is said, they may be names. A text
is foreign if s is above both the settings' bound and the (1 − tail) quantile of the corpus's own s.
The first is needed where rows overlap (sst2's phrases): there, hardly a word stands in one alone.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from take.generation.screening.settings import ScreeningSettings
from take.text.normalise import TextRow, words

# A script that fewer letters than this are in is one the corpus does not use: a name, a quotation.
_RARE_SCRIPT = 0.001
_FEWEST_WORDS = 3


@cache
def script(character: str) -> str:
    """The script of a letter, and nothing for what is no letter: the first word of its name.

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
        """The words of all rows; scripts, and what is usual, from a sample of their texts."""
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
        """What is wrong with a text, or nothing."""
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
    """The words of a text but for numbers, which are the same in many languages."""
    return [word for word in words(text) if not word.isdigit()]
