"""Distilled rows and pool compared with their corpus: classes, lengths, words, mentions.

Rows drawn from the corpus at random should not be called shifted. In at most 5 % of such sets any
figure is (Holm's correction over all figures of a set).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from take.audit.balance.comparison import (
    CONFIDENCE,
    EVEN_RATIO,
    Compared,
    Draft,
    judged,
    share_against,
    times,
)
from take.audit.balance.identity import mention_shifts, sides_shifts
from take.audit.balance.report import (
    BalanceReport,
    ClassShare,
    Finding,
    LengthShift,
    Quantiles,
    SetBalance,
    Where,
)
from take.audit.balance.rows import Reference, Rows, effective
from take.audit.balance.terms import BalanceSettings
from take.audit.balance.vocabulary import over_and_under, vocabulary_shift
from take.errors import InputError
from take.rows.arrays import Float64
from take.rows.labelled import TEXT_COLUMNS
from take.text.format import share as percent

_LEVELS = {"p5": 0.05, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p95": 0.95}


class Balance(NamedTuple):
    """The outputs of the measurement."""

    report: BalanceReport
    terms: pd.DataFrame
    """Words over- and under-represented, by set: where, term, direction, counts, log_odds, z."""


def measure_balance(
    distilled: pd.DataFrame,
    pool: pd.DataFrame,
    corpus: pd.DataFrame,
    expected_shares: Sequence[float],
    settings: BalanceSettings,
) -> Balance:
    """How far two sets have shifted from the corpus; `expected_shares` are by class id.

    >>> corpus = pd.DataFrame({"text": ["she wins", "he loses"] * 50, "label": [1, 0] * 50,
    ...     "label_name": ["good", "bad"] * 50})
    >>> found = measure_balance(corpus[:8], corpus[:80], corpus, [0.5, 0.5], BalanceSettings())
    >>> found.report.of("distilled", "shifted")
    []
    >>> found.report.of("distilled")[2].sentence
    'Texts have 2 words on average, 2 in the corpus: 1 times (1 to 1). Even.'
    """
    reference = Reference(corpus, settings.identity_groups)
    expected = _checked_shares(expected_shares, len(reference.names))
    tables: dict[Where, pd.DataFrame] = {"distilled": distilled, "pool": pool}
    found = {
        where: measure_set(table, where, reference, expected, settings)
        for where, table in tables.items()
    }
    report = BalanceReport(
        corpus_rows=len(corpus),
        distilled=found["distilled"][0],
        pool=found["pool"][0],
        findings=[finding for _, findings, _ in found.values() for finding in findings],
    )
    terms = [terms for _, _, terms in found.values()]
    return Balance(report, pd.concat(terms, ignore_index=True))


def measure_set(
    table: pd.DataFrame,
    where: Where,
    reference: Reference,
    expected: Float64,
    settings: BalanceSettings,
) -> tuple[SetBalance, list[Finding], pd.DataFrame]:
    """One set compared with a corpus that has been read: its figures, findings and words."""
    rows, groups = reference.read(table, where), settings.identity_groups
    measured: dict[str, tuple[Any, list[Draft]]] = {
        "classes": _classes(rows, reference, where, expected),
        "lengths": _lengths(rows, reference),
        "vocabulary": vocabulary_shift(rows, reference, settings),
        "mentions": mention_shifts(rows, reference, where, groups),
        "sides": sides_shifts(rows, reference, where, groups),
    }
    drafts = [draft for _, its in measured.values() for draft in its]
    shifts = {name: figures for name, (figures, _) in measured.items()}
    terms = over_and_under(rows, reference)
    terms.insert(0, "where", where)
    return SetBalance(rows=len(rows), **shifts), judged(drafts, where), terms


def _classes(
    rows: Rows, reference: Reference, where: Where, expected: Float64
) -> tuple[dict[str, ClassShare], list[Draft]]:
    """Compared with the shares that the budget sets; those of the corpus are only stated."""
    sizes, corpus = rows.class_sizes, reference.rows.class_sizes / len(reference.rows)
    found = share_against(sizes, len(rows), expected, CONFIDENCE)
    # As many rows as the budget sets, to a row: nothing was left to chance, there is no interval.
    is_set = np.abs(sizes - expected * len(rows)) < 1
    low, high, p = (
        np.where(is_set, exact, part)
        for exact, part in ((found.value, found.low), (found.value, found.high), (1.0, found.p))
    )
    found = Compared(found.value, low, high, p)
    shares, drafts = {}, []
    for label, name in enumerate(reference.names):
        share = float(sizes[label]) / len(rows)
        shares[name] = ClassShare(
            rows=sizes[label], share=share, expected=expected[label], corpus=corpus[label]
        )
        budget = "as the budget sets"
        if not is_set[label]:
            ratio = times(found.value[label], low[label], high[label])
            budget = f"{percent(expected[label])} by the budget: {ratio}"
        sentence = (
            f"{sizes[label]} of {len(rows)} {where} rows are '{name}' ({percent(share)}), "
            f"{budget}; the corpus has {percent(corpus[label])}."
        )
        drafts.append(Draft.of(f"class '{name}'", found, label, EVEN_RATIO, sentence))
    return shares, drafts


def _checked_shares(shares: Sequence[float], n_classes: int) -> Float64:
    found = np.asarray(shares, dtype=np.float64)
    is_good = found.shape == (n_classes,) and bool((found > 0).all())
    if not is_good or abs(found.sum() - 1) > 1e-6:
        raise InputError(
            f"{len(found)} shares that add up to {found.sum():.4g}",
            where="expected shares of the classes",
            allowed=f"{n_classes} shares above 0 that add up to 1, one for each class",
            remedy="divide the budget's rows of each class by their sum",
        )
    return found


def _lengths(rows: Rows, reference: Reference) -> tuple[dict[str, LengthShift], list[Draft]]:
    """Words per text: means, spread and the ratio of the means, for each column of texts."""
    shifts, drafts = {}, []
    names = TEXT_COLUMNS["single" if rows.tokens.n_columns == 1 else "pair"]
    weights = reference.row_weight(rows)
    sizes = np.array([len(rows), float(effective(weights, reference.rows.class_sizes))])
    for column, name in enumerate(names):
        mine, corpus = rows.tokens.lengths[column], reference.rows.tokens.lengths[column]
        n_lengths = int(max(mine.max(), corpus.max())) + 1
        shares = np.stack(  # of the rows, by number of words
            [
                np.bincount(mine, minlength=n_lengths) / len(rows),
                np.bincount(corpus, weights[reference.rows.labels], minlength=n_lengths),
            ]
        )
        values = np.arange(n_lengths, dtype=np.float64)
        means = shares @ values
        variances = np.maximum(shares @ np.square(values) - np.square(means), 0)
        ratio = mean_ratio(means, variances * sizes / np.maximum(sizes - 1, 1), sizes)
        shifts[name] = _length_shift(shares, means, variances, sizes)
        texts, title = "Texts", "length"
        if len(names) > 1:
            texts, title = f"Texts in {name}", f"length of {name}"
        sentence = (
            f"{texts} have {means[0]:.3g} words on average, "
            f"{means[1]:.3g} in the corpus: {times(*ratio[:3])}."
        )
        drafts.append(Draft(title, *ratio, EVEN_RATIO, sentence))
    return shifts, drafts


def mean_ratio(
    means: Float64, variances: Float64, sizes: Float64
) -> tuple[float, float, float, float]:
    """The ratio of two means with its interval and p-value, by the delta method on its logarithm.

        log(x̄ / ȳ) ± t_{n−1} √(s²_x/(n x̄²) + s²_y/(m ȳ²))

    There are n − 1 degrees of freedom: the first sample is by far the smaller.

    >>> found = mean_ratio(np.array([10, 20]), np.array([16, 36]), np.array([400, 9000]))
    >>> [round(part, 3) for part in found]
    [0.5, 0.48, 0.52, 0.0]
    """
    from scipy.stats import t

    freedom = sizes[0] - 1
    if freedom <= 0 or not means.all():
        return float(means[0] / means[1]) if means[1] else np.inf, 0.0, np.inf, 1.0
    centre = float(np.log(means[0] / means[1]))
    error = float(np.sqrt((variances / (sizes * np.square(means))).sum()))
    reach = error * float(t.ppf((1 + CONFIDENCE) / 2, freedom))
    p = float(2 * t.sf(abs(centre) / error, freedom)) if error else float(centre == 0)
    value, low, high = (float(np.exp(centre + step)) for step in (0.0, -reach, reach))
    return value, low, high, p


def _length_shift(
    shares: Float64, means: Float64, variances: Float64, sizes: Float64
) -> LengthShift:
    from scipy.special import kolmogorov

    spread = float(np.sqrt(variances.mean()))
    # By hand: scipy's ks_2samp takes no weights, and corpus rows are weighted by class.
    gap = float(np.abs(np.diff(np.cumsum(shares, axis=1), axis=0)).max())
    return LengthShift(
        mean=means[0],
        corpus_mean=means[1],
        quantiles=_quantiles(shares[0]),
        corpus_quantiles=_quantiles(shares[1]),
        standardised_difference=float(means[0] - means[1]) / spread if spread else None,
        ks=gap,
        ks_p=float(kolmogorov(gap * np.sqrt(sizes.prod() / sizes.sum()))),
    )


def _quantiles(shares: Float64) -> Quantiles:
    # Sums of weights can fall short, by rounding, of a level that they reach.
    cumulative = np.cumsum(shares) + 1e-9
    return Quantiles(
        **{name: int(np.searchsorted(cumulative, level)) for name, level in _LEVELS.items()}
    )
