"""The words of a set compared with those of its corpus."""

from __future__ import annotations

import numpy as np
import pandas as pd

from take.audit.balance.comparison import CONFIDENCE, EVEN_RATIO, Draft, times
from take.audit.balance.report import Variety, VocabularyShift
from take.audit.balance.rows import Reference, Rows, effective
from take.audit.balance.terms import BalanceSettings
from take.rows.arrays import Float64, Int64
from take.rows.random import rng
from take.text.tokens import Tokens

_DRAWS_OF_PAIRS = 5  # counting distinct pairs of words is the slow part
_LISTED_TERMS = 25  # of each direction
PRIOR_SHARE = 0.1  # words in the prior of the log-odds, as a share of those in the set


def vocabulary_shift(
    rows: Rows, reference: Reference, settings: BalanceSettings
) -> tuple[VocabularyShift | None, list[Draft]]:
    """The set's words compared with those of random corpus rows: as many, of the same classes.

    A small set differs from any corpus because it is small. So corpus rows are drawn repeatedly, as
    many of each class as the set has, and both they and the set are compared with the corpus rows
    that were not drawn:  JSD(p, q) = H((p + q)/2) − (H(p) + H(q))/2. At most half of a class is
    drawn; of a set that has more rows of a class, as many are drawn too. None without words.
    """
    sizes = np.minimum(rows.class_sizes, reference.rows.class_sizes // 2)
    if not sizes.sum() or not rows.tokens.ids.size:
        return None, []
    random = rng(settings.seed, "vocabulary permutations")
    rest = _Rest(reference, sizes)
    figures, distinct = [], []
    for draw in range(settings.draws):
        drawn, own = (
            of.tokens.places(_drawn(of.by_class, sizes, random)) for of in (reference.rows, rows)
        )
        figures.append(rest.figures(drawn, rows.tokens, own))
        if draw < _DRAWS_OF_PAIRS:
            distinct.append(_distinct((rows.tokens, own), (reference.rows.tokens, drawn)))
    ours, theirs = np.array(figures).transpose(1, 2, 0)
    return _described(rows, ours, theirs, np.mean(distinct, axis=0))


def _described(
    rows: Rows, ours: Float64, theirs: Float64, distinct: Float64
) -> tuple[VocabularyShift, list[Draft]]:
    from scipy.stats import t

    value, mean = float(ours[1].mean()), float(theirs[1].mean())
    deviation, freedom = float(theirs[1].std(ddof=1)), len(theirs[1]) - 1
    reach = deviation * float(t.ppf((1 + CONFIDENCE) / 2, freedom))
    low, high = max(0.0, mean - reach), mean + reach
    shift = VocabularyShift(
        tokens=rows.tokens.ids.size,
        known_share=Variety(value=ours[0].mean(), random_rows=theirs[0].mean()),
        distinct_1=Variety(value=distinct[0, 0], random_rows=distinct[1, 0]),
        distinct_2=Variety(value=distinct[0, 1], random_rows=distinct[1, 1]),
        divergence=Variety(value=value, random_rows=mean),
        random_low=low,
        random_high=high,
    )
    ratio = (value / mean, value / high, value / low if low else np.inf) if mean else (1.0,) * 3
    p = float(t.sf((value - mean) / deviation, freedom)) if deviation else 1.0
    sentence = (
        f"Word frequencies are {value:.3g} bits away from the corpus, those of as many random "
        f"corpus rows {mean:.3g}: {times(*ratio)}."
    )
    # Nearer to the corpus than chance is no fault: selecting for coverage does that.
    return shift, [Draft("vocabulary", *ratio, p, (0.0, EVEN_RATIO[1]), sentence)]


class _Rest:
    """The corpus rows that were not drawn, at the set's mix of classes."""

    def __init__(self, reference: Reference, sizes: Int64) -> None:
        counts, corpus = reference.class_counts, reference.rows
        self._tokens = corpus.tokens
        self._weights = sizes / sizes.sum() / (corpus.class_sizes - sizes)
        self._labels = np.repeat(corpus.labels, corpus.tokens.row_sizes)
        self._totals, self._weighted = counts.sum(axis=0), self._weights @ counts

    def figures(self, drawn: Int64, tokens: Tokens, own: Int64) -> list[tuple[float, float]]:
        """Share of known words and divergence: of the set's words, of the drawn rows' words."""
        ids, n_words = self._tokens.ids[drawn], len(self._totals)
        theirs = np.bincount(ids, minlength=n_words)
        taken = np.bincount(ids, self._weights[self._labels[drawn]], minlength=n_words)
        is_known = self._totals > theirs
        left = np.where(is_known, np.maximum(self._weighted - taken, 0), 0)
        left /= max(left.sum(), np.finfo(np.float64).tiny)
        ours = np.bincount(tokens.ids[own], minlength=n_words)
        figures = []
        for counts in (ours, theirs):
            seen, total = np.flatnonzero(counts), max(int(counts.sum()), 1)
            known = float(counts[seen] @ is_known[seen]) / total
            figures.append((known, jensen_shannon(counts[seen] / total, left[seen])))
        return figures


def jensen_shannon(p: Float64, q: Float64) -> float:
    """In bits, over the words that p has; words of q alone add half of the mass that q lacks here.

    By hand: scipy's would need both over the vocabulary of the whole corpus, at each draw.

    >>> jensen_shannon(np.array([0.5, 0.5]), np.array([0.5, 0.5]))
    0.0
    >>> jensen_shannon(np.array([1.0]), np.array([0.0]))
    1.0
    """
    both = p + q
    with np.errstate(divide="ignore", invalid="ignore"):
        of_q = np.where(q > 0, q * np.log2(2 * q / both), 0)
    return float(((p * np.log2(2 * p / both)).sum() + of_q.sum() + 1 - q.sum()) / 2)


def over_and_under(rows: Rows, reference: Reference) -> pd.DataFrame:
    """The words most over- and under-represented: log-odds with an informative Dirichlet prior.

        δ_w = log (y_w + α_w)/(n + α₀ − y_w − α_w) − log (z_w + α_w)/(m + α₀ − z_w − α_w)
        ζ_w = δ_w / √(1/(y_w + α_w) + 1/(z_w + α_w))

    (Monroe, Colaresi & Quinn, "Fightin' Words", Political Analysis 16, 2008). y counts the set, z
    the corpus at the set's mix of classes; α is the frequencies of both together, worth
    `PRIOR_SHARE` of the set's words. The words are the corpus's: they are never logged.
    """
    counts = reference.class_counts
    own = np.bincount(rows.tokens.ids, minlength=counts.shape[1]).astype(np.float64)
    weights = reference.row_weight(rows)
    theirs = weights @ counts * float(effective(weights, reference.rows.class_sizes))
    prior = own + theirs
    prior *= PRIOR_SHARE * own.sum() / max(prior.sum(), 1)
    logs, variance = np.zeros_like(own), np.zeros_like(own)
    for sign, part in ((1, own), (-1, theirs)):
        smoothed = part + prior
        seen = smoothed > 0
        logs[seen] += sign * np.log(smoothed[seen] / (smoothed.sum() - smoothed[seen]))
        variance[seen] += 1 / smoothed[seen]
    z = np.divide(logs, np.sqrt(variance), out=np.zeros_like(logs), where=variance > 0)
    order = np.argsort(z, kind="stable")
    over = [word for word in order[::-1][:_LISTED_TERMS] if z[word] > 0]
    under = [word for word in order[:_LISTED_TERMS] if z[word] < 0]
    names, chosen = list(reference.vocabulary), np.array([*over, *under], dtype=np.int64)
    return pd.DataFrame(
        {
            "term": [names[word] for word in chosen],
            "direction": ["over"] * len(over) + ["under"] * len(under),
            "count": own[chosen].astype(np.int64),
            "corpus_count": counts.sum(axis=0)[chosen].astype(np.int64),
            "per_thousand": 1000 * own[chosen] / max(own.sum(), 1),
            "corpus_per_thousand": 1000 * theirs[chosen] / max(theirs.sum(), 1),
            "log_odds": logs[chosen],
            "z": z[chosen],
        }
    )


def _drawn(by_class: list[Int64], sizes: Int64, random: np.random.Generator) -> Int64:
    """As many rows of each class, shuffled, so that the first few are of all classes."""
    parts = [
        random.choice(rows, int(size), replace=False, shuffle=False)
        for rows, size in zip(by_class, sizes, strict=True)
    ]
    return random.permutation(np.concatenate(parts))


def _distinct(*words: tuple[Tokens, Int64]) -> list[list[float]]:
    """distinct-1 and -2 at equally many words: both fall with their number."""
    size = min(len(places) for _, places in words)
    found = []
    for tokens, every in words:
        places = every[:size]
        ids = tokens.ids[places].astype(np.int64)
        follows = ~tokens.begins[places[1:]] & (np.diff(places) == 1)
        pairs = (ids[:-1] << 32 | ids[1:])[follows]
        # Sorted: several times faster here than `np.unique`, which hashes.
        different = [np.count_nonzero(np.diff(np.sort(p))) + bool(len(p)) for p in (ids, pairs)]
        found.append(
            [float(n / max(len(p), 1)) for n, p in zip(different, (ids, pairs), strict=True)]
        )
    return found
