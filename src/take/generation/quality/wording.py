"""The wording of a pool beside that of the corpus: repetition, variety, length."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from take.generation.quality.evidence import PoolEvidence
from take.generation.quality.ngrams import (
    Tokens,
    distinct,
    first,
    kolmogorov_smirnov,
    self_bleu,
    tokens,
)
from take.generation.quality.report import Diversity, Lengths, Spread, Wording
from take.generation.quality.samples import Matched
from take.generation.quality.settings import QualitySettings
from take.rows.arrays import Int64
from take.text.normalise import text_key


class Wordings:
    """Words of pool and corpus, read once for the whole and for each class."""

    def __init__(self, evidence: PoolEvidence, matched: Matched, settings: QualitySettings) -> None:
        self._settings = settings
        self.pool_words, self.corpus_words = (
            np.array([len(text.split()) for text in evidence.texts(frame)], dtype=np.int64)
            for frame in (evidence.pool, evidence.corpus)
        )
        self._pool, self._corpus = (
            [tokens(text) for text in evidence.texts(frame.iloc[rows])]
            for frame, rows in ((evidence.pool, matched.pool), (evidence.corpus, matched.real))
        )
        self._pool_labels = evidence.pool_labels[matched.pool]
        self._corpus_labels = evidence.corpus_labels[matched.real]

    def diversity(self) -> Diversity:
        """distinct-n and self-BLEU of both."""
        # distinct-n falls with the number of tokens: both samples get the same.
        n_tokens = min(
            self._settings.distinct_tokens,
            *(sum(map(len, rows)) for rows in (self._pool, self._corpus)),
        )
        pool, corpus = (self._wording(rows, n_tokens) for rows in (self._pool, self._corpus))
        return Diversity(pool=pool, corpus=corpus, tokens=n_tokens)

    def lengths(self) -> Lengths:
        """Words per row of both."""
        return Lengths(
            pool=Spread.of(self.pool_words),
            corpus=Spread.of(self.corpus_words),
            ks=kolmogorov_smirnov(self.pool_words, self.corpus_words),
        )

    def self_bleu_of_class(self, label: int) -> tuple[float | None, float | None]:
        """Of the class's generated rows, and of its real rows."""
        return (
            self._self_bleu(_of_label(self._pool, self._pool_labels, label)),
            self._self_bleu(_of_label(self._corpus, self._corpus_labels, label)),
        )

    def _wording(self, rows: Sequence[Tokens], n_tokens: int) -> Wording:
        sample = first(rows, n_tokens)
        return Wording(
            distinct_1=distinct(sample, 1),
            distinct_2=distinct(sample, 2),
            distinct_3=distinct(sample, 3),
            self_bleu=self._self_bleu(rows),
        )

    def _self_bleu(self, rows: Sequence[Tokens]) -> float | None:
        return self_bleu(rows, self._settings.bleu_hypotheses, self._settings.bleu_references)


def unique_share(rows: pd.DataFrame, text_columns: Sequence[str]) -> float | None:
    """Different rows over rows, of those that have all their texts."""
    whole = rows.dropna(subset=list(text_columns))
    columns = [whole[name].map(text_key) for name in text_columns]
    keys = [key for key in zip(*columns, strict=True) if all(key)]
    return len(set(keys)) / len(keys) if keys else None


def _of_label(rows: Sequence[Tokens], labels: Int64, label: int) -> list[Tokens]:
    return [row for row, its in zip(rows, labels, strict=True) if its == label]
