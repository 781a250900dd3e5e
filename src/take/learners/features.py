"""Features of logistic regression: TF-IDF of words or of character n-grams, and φ.

A text's words are counted once for all vocabularies; a vocabulary is a choice of columns and their
idf, with scikit-learn's words (two letters or more, lower case) and formula, to the last digit:

    tfidf(x, w) = count(x, w) · (ln((1 + n) / (1 + df_w)) + 1),   each row divided by its norm,

n the texts that the vocabulary was made from and df_w those with word w. Character n-grams are
weighed like words: 2 to 5 characters, within a word and the blanks around it.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from take.encoder.encode import EmbeddingSettings, Encoder, embed_corpus
from take.errors import InputError
from take.learners.base import Remembered, Texts
from take.rows.arrays import Float32

_WORD = re.compile(r"(?u)\b\w\w+\b")
CHARACTERS = (2, 5)  # of an n-gram


def _words_of(text: str) -> list[str]:
    return _WORD.findall(text.lower())


class WordCounts:
    """How often each text has each word; the list of words grows with what is counted."""

    def __init__(self, split: Callable[[str], list[str]] = _words_of) -> None:
        self.words: dict[str, int] = {}
        self._split = split
        self._counted = Remembered(self._count)

    def __call__(self, texts: Texts) -> list[Any]:
        """A CSR matrix per column, (n, words known now)."""
        from scipy.sparse import csr_matrix

        counted = self._counted(texts)  # may meet new words
        shape = len(texts), len(self.words)
        return [csr_matrix(parts, shape=shape) for parts in counted]

    def _count(self, texts: Texts) -> list[tuple[Any, Any, Any]]:
        return [self._count_column(column) for column in texts.columns]

    def _count_column(self, column: tuple[str, ...]) -> tuple[Any, Any, Any]:
        indices: list[int] = []
        counts: list[int] = []
        ends = [0]
        for text in column:
            found = Counter(self._split(text))
            indices += [self.words.setdefault(word, len(self.words)) for word in found]
            counts += found.values()
            ends.append(len(indices))
        return (
            np.array(counts, dtype=np.float64),
            np.array(indices, dtype=np.int32),
            np.array(ends, dtype=np.int32),
        )


def count_characters() -> WordCounts:
    """Counts of character n-grams, as scikit-learn's `char_wb` has them.

    >>> counts = count_characters()
    >>> _ = counts(Texts.of(["Ab"]))
    >>> list(counts.words)
    [' a', 'ab', 'b ', ' ab', 'ab ', ' ab ']
    """
    split: list[Callable[[str], list[str]]] = []

    def ngrams(text: str) -> list[str]:
        if not split:  # made when first used, because it imports scikit-learn
            from sklearn.feature_extraction.text import CountVectorizer

            counter = CountVectorizer(analyzer="char_wb", ngram_range=CHARACTERS)
            split.append(counter.build_analyzer())
        return split[0](text)

    return WordCounts(ngrams)


class Vocabulary:
    """Words and their idf, made from some texts; turns texts into TF-IDF.

    >>> vocabulary = Vocabulary(WordCounts(), Texts.of(["a good film", "a bad film"]))
    >>> vocabulary.words
    ['bad', 'film', 'good']
    >>> vocabulary(Texts.of(["film film", "unheard"]))[0].toarray().tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
    """

    def __init__(self, counts: WordCounts, texts: Texts) -> None:
        self._counts = counts
        columns = counts(texts)
        frequencies = sum(np.diff(column.tocsc().indptr) for column in columns)
        names = list(counts.words)
        known = np.flatnonzero(frequencies)
        # Ordered by name, so that what other cells counted before does not matter.
        self._columns = np.array(sorted(known.tolist(), key=names.__getitem__), dtype=np.int64)
        if not len(self._columns):
            raise InputError("no text has a word of two letters", where="TF-IDF vocabulary")
        self.words = [names[column] for column in self._columns]
        n_texts = len(columns) * len(texts)
        self.idf = np.log((1 + n_texts) / (1 + frequencies[self._columns])) + 1
        self._weighed = Remembered(self._weigh)

    def __call__(self, texts: Texts) -> list[Any]:
        """A CSR matrix per column, (n, V), rows of norm 1 or 0."""
        return self._weighed(texts)

    def _weigh(self, texts: Texts) -> list[Any]:
        from scipy.sparse import diags
        from sklearn.preprocessing import normalize

        scale = diags(self.idf)
        return [
            normalize((counted[:, self._columns] @ scale).tocsr())
            for counted in self._counts(texts)
        ]

    @cached_property
    def identity(self) -> str:
        """A digest of words and idf."""
        digest = hashlib.sha256("\n".join(self.words).encode())
        digest.update(self.idf.tobytes())
        return digest.hexdigest()


class TextVectors(Protocol):
    """Texts → dense features of each row."""

    @property
    def title(self) -> str:
        """Whose."""
        ...

    @property
    def identity(self) -> str:
        """A digest of everything that decides a vector."""
        ...

    def __call__(self, texts: Texts) -> Float32:
        """(n, d)."""
        ...


class SentenceVectors:
    """Texts → φ: (n, d), or (n, 4d) for pairs as [u ; v ; |u−v| ; u·v]."""

    def __init__(self, encoder: Encoder, settings: EmbeddingSettings | None = None) -> None:
        self._encoder, self._settings = encoder, settings or EmbeddingSettings()
        self._encoded = Remembered(self._encode)

    @property
    def title(self) -> str:
        """Encoder and backend."""
        return f"{self._encoder.settings.model} ({self._encoder.settings.backend})"

    @property
    def identity(self) -> str:
        """A digest of everything that decides a vector."""
        return self._encoder.identity

    def __call__(self, texts: Texts) -> Float32:
        """The features of each row."""
        return self._encoded(texts)

    def _encode(self, texts: Texts) -> Float32:
        embedded = embed_corpus(texts.columns, self._encoder, self._settings)
        return embedded.embeddings.read(0, len(texts))
