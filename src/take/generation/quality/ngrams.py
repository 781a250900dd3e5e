"""Do the rows repeat each other's words? distinct-n and self-BLEU.

distinct-n (Li et al., NAACL 2016) is the share of n-grams that are different from each other.
self-BLEU (Zhu et al., "Texygen", SIGIR 2018) is the mean BLEU of a row held against other rows of
the same pool: high when rows are made of the same phrases.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

Tokens = list[str]
_TOKEN = re.compile(r"\w+|[^\w\s]")
_MAX_ORDER = 4
# What an order without any match counts as, in matches: sacrebleu's "floor", NLTK's "method1".
_FLOOR = 0.1


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

    It falls with the number of tokens, so only samples of one size can be compared: see `first`.
    None if no row has n tokens.

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
    """Rows that many hypotheses are held against.

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


def kolmogorov_smirnov(first_sample: NDArray[np.int64], second: NDArray[np.int64]) -> float:
    """sup_x |F(x) − G(x)|, the largest gap between two samples' cumulative shares.

    >>> kolmogorov_smirnov(np.array([1, 2, 3, 4]), np.array([3, 4, 5, 6]))
    0.5
    """
    values = np.concatenate([first_sample, second])
    shares = [
        np.searchsorted(np.sort(sample), values, side="right") / len(sample)
        for sample in (first_sample, second)
    ]
    return float(np.abs(shares[0] - shares[1]).max())
