"""Distilled rows and pool beside their corpus: classes, lengths, words, mentions.

What is drawn from the corpus at random should not be called shifted. Of all figures of a set
together, at most 1 − confidence of such sets have one that is (Holm's correction, set by set).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from take.audit.balance.findings import Bounds, Draft, judged, percent, times
from take.audit.balance.identity import mention_shifts
from take.audit.balance.intervals import Compared, share_against
from take.audit.balance.lengths import length_shifts
from take.audit.balance.report import BalanceReport, ClassShare, Finding, SetBalance, Where
from take.audit.balance.rows import Reference, Rows
from take.audit.balance.settings import BalanceSettings
from take.audit.balance.vocabulary import over_and_under, vocabulary_shift
from take.errors import InputError
from take.rows.arrays import Float64


class Balance(NamedTuple):
    """What was found."""

    report: BalanceReport
    terms: pd.DataFrame
    """Words over- and under-represented, by set: where, term, direction, counts, log_odds, z."""


class MeasuredSet(NamedTuple):
    """What was found about one set."""

    balance: SetBalance
    findings: list[Finding]
    terms: pd.DataFrame


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
        distilled=found["distilled"].balance,
        pool=found["pool"].balance,
        findings=[finding for its in found.values() for finding in its.findings],
    )
    terms = pd.concat([its.terms for its in found.values()], ignore_index=True)
    return Balance(report, terms)


def measure_set(
    table: pd.DataFrame,
    where: Where,
    reference: Reference,
    expected: Float64,
    settings: BalanceSettings,
) -> MeasuredSet:
    """One set beside a corpus that has been read."""
    rows = reference.read(table, where)
    classes, drafts = _classes(rows, reference, where, expected, settings)
    lengths = length_shifts(rows, reference, settings)
    vocabulary = vocabulary_shift(rows, reference, settings)
    mentions = mention_shifts(rows, reference, where, settings)
    drafts += lengths.drafts
    drafts += [vocabulary.draft] if vocabulary else []
    drafts += mentions.drafts
    balance = SetBalance(
        rows=len(rows),
        classes=classes,
        lengths=lengths.shifts,
        vocabulary=vocabulary.shift if vocabulary else None,
        mentions=mentions.shifts,
        sides=mentions.sides,
    )
    terms = over_and_under(rows, reference, settings)
    terms.insert(0, "where", where)
    return MeasuredSet(balance, judged(drafts, where, settings.confidence), terms)


def _classes(
    rows: Rows, reference: Reference, where: Where, expected: Float64, settings: BalanceSettings
) -> tuple[dict[str, ClassShare], list[Draft]]:
    """Against the shares asked for; the corpus's own are only stated."""
    sizes, corpus = rows.class_sizes, reference.rows.class_sizes / len(reference.rows)
    found = share_against(sizes, len(rows), expected, settings.confidence)
    # As many rows as asked for, to a row: nothing was left to chance, and there is no interval.
    is_asked = np.abs(sizes - expected * len(rows)) < 1
    low, high, p = (
        np.where(is_asked, exact, part)
        for exact, part in ((found.value, found.low), (found.value, found.high), (1.0, found.p))
    )
    found = Compared(found.value, low, high, p)
    shares, drafts = {}, []
    for label, name in enumerate(reference.names):
        share = float(sizes[label]) / len(rows)
        shares[name] = ClassShare(
            rows=sizes[label], share=share, expected=expected[label], corpus=corpus[label]
        )
        told = f"{sizes[label]} of {len(rows)} {where} rows are '{name}' ({percent(share)})"
        stated = f"the corpus has {percent(corpus[label])}"
        if is_asked[label]:
            sentence = f"{told}, as asked for; {stated}."
        else:
            ratio = times(found.value[label], low[label], high[label])
            sentence = f"{told}, {percent(expected[label])} asked for: {ratio}; {stated}."
        bounds = Bounds.factor(settings.factor)
        drafts.append(Draft.of(f"class '{name}'", found, label, bounds, sentence))
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
