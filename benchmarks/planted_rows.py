"""Train rows set apart, and changes of other train rows: what thresholds.py measures with.

No evaluation row is read.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from take.audit.privacy.real_rows import SetApart, set_apart
from take.encoder.embeddings import Embeddings
from take.encoder.encode import EmbeddingSettings, Encoder, embed_corpus
from take.encoder.models import EncoderSettings
from take.evaluation.methods.eda import load_wordnet, replaced
from take.evaluation.methods.material import EdaSettings
from take.rows.arrays import Int64
from take.rows.random import rng
from take.text.normalise import TextRow, n_words, text_rows, words

DATA = Path("data")
APART, PLANTED = 2000, 300
ANY = (1, 100_000)
OTHER_LETTERS = dict(zip("abcdefghijklmnopqrstuvwxyz", "абцдефгхийклмнопярстувшчыз", strict=True))
Change = Callable[[list[str], random.Random, "Corpus"], list[str]]


def changed(share: float) -> Change:
    """Some words, at least one, exchanged for random words of the corpus."""

    def change(own: list[str], chance: random.Random, corpus: Corpus) -> list[str]:
        places = chance.sample(range(len(own)), max(1, int(share * len(own))))
        return [corpus.word(chance) if i in places else word for i, word in enumerate(own)]

    return change


def dropped(own: list[str], chance: random.Random, corpus: Corpus) -> list[str]:
    place = chance.randrange(len(own))
    return own[:place] + own[place + 1 :]


def added(own: list[str], chance: random.Random, corpus: Corpus) -> list[str]:
    place = chance.randrange(len(own) + 1)
    return [*own[:place], corpus.word(chance), *own[place:]]


def shuffled(own: list[str], chance: random.Random, corpus: Corpus) -> list[str]:
    return chance.sample(own, len(own))


def halves_swapped(own: list[str], chance: random.Random, corpus: Corpus) -> list[str]:
    return own[len(own) // 2 :] + own[: len(own) // 2]


def half_and_others(own: list[str], chance: random.Random, corpus: Corpus) -> list[str]:
    """Half of a row, and other words after it: one word in five."""
    start, half = chance.randrange(len(own) // 2 + 1), len(own) // 2
    return own[start : start + half] + [corpus.word(chance) for _ in range(half // 4)]


def half_in_another_row(own: list[str], chance: random.Random, corpus: Corpus) -> list[str]:
    (text,) = chance.choice(corpus.clean)
    start, other = chance.randrange(len(own) // 2 + 1), words(text)
    place = chance.randrange(len(other) + 1)
    return other[:place] + own[start : start + len(own) // 2] + other[place:]


def synonyms(own: list[str], chance: random.Random, corpus: Corpus) -> list[str]:
    """Three words in ten exchanged for synonyms of WordNet."""
    draws = np.random.default_rng(chance.randrange(2**32))
    return list(replaced(own, max(1, int(0.3 * len(own))), wordnet(), draws))


def looping(own: list[str], chance: random.Random, corpus: Corpus) -> list[str]:
    """A phrase of one to four words, three to six times in a row."""
    start = chance.randrange(len(own))
    phrase = own[start : start + chance.randint(1, 4)]
    return [*own[:start], *phrase * chance.randint(3, 6), *own[start + len(phrase) :]]


def stuttering(own: list[str], chance: random.Random, corpus: Corpus) -> list[str]:
    """A character four to ten times in a row."""
    place = chance.randrange(len(own))
    return [*own[:place], own[place] + own[place][-1] * chance.randint(3, 9), *own[place + 1 :]]


def other_script(own: list[str], chance: random.Random, corpus: Corpus) -> list[str]:
    """One word in five in other letters."""
    places = chance.sample(range(len(own)), max(1, len(own) // 5))
    return [
        "".join(OTHER_LETTERS.get(c, c) for c in word) if i in places else word
        for i, word in enumerate(own)
    ]


def unknown(own: list[str], chance: random.Random, corpus: Corpus) -> list[str]:
    """Half of the words made up."""
    places = chance.sample(range(len(own)), (len(own) + 1) // 2)
    letters = list(OTHER_LETTERS)
    return [
        "".join(chance.choices(letters, k=chance.randint(4, 9))) if i in places else word
        for i, word in enumerate(own)
    ]


@cache
def wordnet() -> Any:
    return load_wordnet(EdaSettings().wordnet).synonyms


class Corpus:
    """Train rows: clean ones set apart, the rest, and changes of some of the rest."""

    def __init__(self, name: str) -> None:
        folder = DATA / "02_intermediate" / name / "corpus.parquet"
        self.table = pd.read_parquet(sorted(folder.glob("*/corpus.parquet"))[-1])
        self.name, self.rows = name, text_rows(self.table, ["text"])
        self.sizes = np.array([n_words(row) for row in self.rows])
        self._words = [word for (text,) in self.rows for word in words(text)]

    @cache  # noqa: B019 (there are two corpora, kept to the end)
    def apart(self, sizes: tuple[int, int] = ANY) -> SetApart:
        """Rows set apart that have so many words, and the rest."""
        candidates = np.flatnonzero((self.sizes >= sizes[0]) & (self.sizes <= sizes[1]))
        return set_apart(self.rows, candidates, APART, rng(0, "apart"))

    @cached_property
    def clean(self) -> list[TextRow]:
        """Rows of any length."""
        return [self.rows[i] for i in self.apart().rows]

    def word(self, chance: random.Random) -> str:
        """A random word, as often as it occurs."""
        return chance.choice(self._words)

    def planted(self, change: Change, sizes: tuple[int, int], rest: Int64) -> list[TextRow]:
        """Some rows of the rest with so many words, changed."""
        chance = random.Random(0)
        fitting = [i for i in rest if sizes[0] <= self.sizes[i] <= sizes[1]]
        chosen = chance.sample(fitting, min(PLANTED, len(fitting)))
        return [(" ".join(change(words(self.rows[i][0]), chance, self)),) for i in chosen]

    def embedded(self, rows: Sequence[TextRow]) -> Embeddings:
        """Embeddings of rows; those of train are in the cache."""
        encoder = Encoder(EncoderSettings(), DATA / "04_feature/embedding_cache")
        texts = [[text for (text,) in rows]]
        return embed_corpus(texts, encoder, EmbeddingSettings()).embeddings
