"""The wording of pool and corpus: distinct-n, self-BLEU, duplicates, length.

distinct-n (Li et al., NAACL 2016) is the share of n-grams that are different from each other.
self-BLEU (Zhu et al., "Texygen", SIGIR 2018) is the mean BLEU of a row against other rows of the
same pool: high when rows are made of the same phrases. Both by hand: sacrebleu compares a row with
each reference again, here all references are one table (see `BleuReferences`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from take.generation.quality.evidence import Matched, PoolEvidence, QualitySettings
from take.generation.quality.report import Diversity, Lengths, Spread, Wording
from take.rows.arrays import Int64
from take.text.normalise import text_key

Tokens = list[str]
_TOKEN = re.compile(r"\w+|[^\w\s]")
_MAX_ORDER = 4
# What an order without any match counts as, in matches: sacrebleu's "floor", NLTK's "method1".
_FLOOR = 0.1
_DISTINCT_TOKENS = 20_000


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
            _DISTINCT_TOKENS,
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


def tokens(text: str) -> Tokens:
    """Words and punctuation marks, without regard to case.

    >>> tokens("It's GOOD, really.")
    ['it', "'", 's', 'good', ',', 'really', '.']
    """
    return _TOKEN.findall(text.casefold())


def ngrams(row: Sequence[str], n: int) -> Iterator[tuple[str, ...]]:
    """The n-grams of one row, in order.

    >>> list(ngrams(["a", "b", "c"], 2))
    [('a', 'b'), ('b', 'c')]
    """
    return zip(*(row[i:] for i in range(n)), strict=False)


def distinct(rows: Sequence[Tokens], n: int) -> float | None:
    """distinct-n = different n-grams / n-grams, none of them across two rows.

    It falls with the number of tokens, so only samples of the same size can be compared: see
    `first`. None if no row has n tokens.

    >>> distinct([["so", "so", "good"], ["so", "good"]], 2)
    0.6666666666666666
    """
    counts = Counter(gram for row in rows for gram in ngrams(row, n))
    return len(counts) / counts.total() if counts else None


def first(rows: Sequence[Tokens], n_tokens: int) -> list[Tokens]:
    """The first rows up to a number of tokens; the last row is cut where the number is reached.

    >>> first([["a", "b"], ["c", "d", "e"], ["f"]], 3)
    [['a', 'b'], ['c']]
    """
    taken: list[Tokens] = []
    for row in rows:
        if n_tokens <= 0:
            break
        taken.append(row[:n_tokens])
        n_tokens -= len(row)
    return taken


class BleuReferences:
    """Rows that many hypotheses are compared with.

    BLEU clips an n-gram's matches at the largest count in any one reference, so all references
    become one table, made once: a hypothesis then costs its own length, not the references'.
    """

    def __init__(self, rows: Sequence[Tokens]) -> None:
        self._most: dict[tuple[str, ...], int] = {}
        for row in rows:
            for n in range(1, _MAX_ORDER + 1):
                for gram, count in Counter(ngrams(row, n)).items():
                    if count > self._most.get(gram, 0):
                        self._most[gram] = count
        self._lengths = np.array(sorted({len(row) for row in rows}))

    def bleu(self, hypothesis: Tokens) -> float:
        """BLEU-4 of one row: BP · exp(Σ_n log p_n / 4).

        p_n is the share of the row's n-grams found in the references, each counted at most as often
        as in one of them; BP = exp(1 − r/h) if the row's length h is below r, the reference length
        closest to it. An order without a match counts 0.1 matches, and orders longer than the row
        are left out (sacrebleu: smooth_method="floor", effective_order=True).

        >>> references = BleuReferences([["a", "good", "film", "indeed"], ["bad"]])
        >>> references.bleu(["a", "good", "film", "indeed"])
        1.0
        >>> round(references.bleu(["a", "good", "plot"]), 6)  # ∛(2/3 · 1/2 · 0.1) · exp(1 − 4/3)
        0.230601
        """
        logs = []
        for n in range(1, min(_MAX_ORDER, len(hypothesis)) + 1):
            counts = Counter(ngrams(hypothesis, n))
            matches = sum(min(count, self._most.get(gram, 0)) for gram, count in counts.items())
            if n == 1 and matches == 0:
                return 0.0  # not one word in common: the floor is for the longer n-grams
            logs.append(np.log((matches or _FLOOR) / counts.total()))
        if not logs:
            return 0.0
        length = len(hypothesis)
        closest = int(self._lengths[np.abs(self._lengths - length).argmin()])
        return float(np.exp(np.mean(logs) + min(0.0, 1 - closest / length)))


def self_bleu(rows: Sequence[Tokens], n_hypotheses: int, n_references: int) -> float | None:
    """Mean BLEU-4 of some rows against other rows of the same sample, in the order given.

    The hypotheses are the first rows and the references the next; where there are too few rows for
    both, they share them in the same proportion. None if there are fewer than two rows.

    >>> self_bleu([["same", "words"], ["same", "words"]], 1, 1)
    1.0
    """
    if len(rows) < 2:
        return None
    n_rows = min(len(rows), n_hypotheses + n_references)
    n_first = round(n_rows * n_hypotheses / (n_hypotheses + n_references))
    n_first = min(max(1, n_first), n_rows - 1)
    references = BleuReferences(rows[n_first:n_rows])
    return float(np.mean([references.bleu(row) for row in rows[:n_first]]))


def kolmogorov_smirnov(first_sample: Int64, second: Int64) -> float:
    """sup_x |F(x) − G(x)|, the largest gap between the cumulative shares of two samples.

    >>> kolmogorov_smirnov(np.array([1, 2, 3, 4]), np.array([3, 4, 5, 6]))
    0.5
    """
    from scipy.stats import ks_2samp

    return float(ks_2samp(first_sample, second, method="asymp").statistic)
