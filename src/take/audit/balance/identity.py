"""Whom the rows of a set mention, and with which labels, beside its corpus.

Rows are counted, not words, so that shorter texts mention fewer of everyone: where lengths have
shifted too, the ratio of two sides and the labels tell more than the rates do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from take.audit.balance.findings import Bounds, Draft, bound, number, percent, points, times
from take.audit.balance.intervals import Compared, compare
from take.audit.balance.report import LabelShare, MentionShift, SidesShift, Where
from take.audit.balance.rows import Reference, Rows, effective
from take.audit.balance.settings import BalanceSettings
from take.audit.balance.terms import Side, sides
from take.rows.arrays import Float64, Int64


class Mentions(NamedTuple):
    """Of one set."""

    shifts: dict[str, MentionShift]
    sides: dict[str, SidesShift]
    drafts: list[Draft]


class _Labels(NamedTuple):
    """Classes × sides: P(label | mentions)."""

    share: Float64
    corpus: Float64
    found: Compared
    is_there: NDArray[np.bool_]  # sides that both set and corpus mention


def mention_shifts(
    rows: Rows, reference: Reference, where: Where, settings: BalanceSettings
) -> Mentions:
    """How often each side of a group is mentioned, with which labels, and one side by the other."""
    named = sides(settings.identity_groups)
    counts, weights = reference.rows.mentions_by_class, reference.row_weight(rows)
    own, beside = rows.mentions.sum(axis=0), weights @ counts
    total = float(effective(weights, reference.rows.class_sizes))
    rates = compare((own, len(rows)), (beside * total, total), "ratio", settings.confidence)
    labels = _labels(rows, reference, settings.confidence)
    shifts, drafts = {}, []
    for at, side in enumerate(named):
        shifts[str(side)] = MentionShift(
            rows=own[at],
            share=own[at] / len(rows),
            corpus=counts[:, at].sum() / len(reference.rows),
            corpus_beside=beside[at],
            ratio=bound(rates.value[at]),
            low=bound(rates.low[at]) if own[at] or beside[at] else None,
            high=bound(rates.high[at]) if beside[at] else None,
            labels=_label_shares(labels, at, reference.names) if labels.is_there[at] else {},
        )
        if own[at] or beside[at]:
            drafts.append(_rate_draft(side, at, rates, shifts[str(side)], where, settings))
    for at in np.flatnonzero(labels.is_there).tolist():
        drafts += _label_drafts(named[at], at, labels, reference, where, settings)
    pairs, pair_drafts = _sides(rows, reference, where, settings)
    return Mentions(shifts, pairs, drafts + pair_drafts)


def _rate_draft(
    side: Side,
    at: int,
    rates: Compared,
    shift: MentionShift,
    where: Where,
    settings: BalanceSettings,
) -> Draft:
    ratio = times(rates.value[at], rates.low[at], rates.high[at], "as often")
    sentence = (
        f"{percent(shift.share)} of the {where} rows mention '{side.side}' ({side.group}), "
        f"{percent(shift.corpus_beside)} in the corpus: {ratio}."
    )
    return Draft.of(f"mentions of {side}", rates, at, Bounds.factor(settings.factor), sentence)


def _labels(rows: Rows, reference: Reference, confidence: float) -> _Labels:
    """P(c | g) of the set, and s_c r_c / Σ s r of the corpus, where r_c = P(g | c)."""
    counts, weights = reference.rows.mentions_by_class, reference.row_weight(rows)
    mine, total = rows.mentions_by_class, rows.mentions.sum(axis=0)
    mass = weights[:, None] * counts
    is_there = (total > 0) & (mass.sum(axis=0) > 0)
    share = mine / np.maximum(total, 1)
    corpus = mass / np.where(mass.sum(axis=0) > 0, mass.sum(axis=0), 1)
    worth = np.maximum(effective(weights, counts), 1e-9)
    found = compare((mine, np.maximum(total, 1)), (corpus * worth, worth), "difference", confidence)
    return _Labels(share, corpus, found, is_there)


def _label_shares(labels: _Labels, at: int, names: Sequence[str]) -> dict[str, LabelShare]:
    return {
        name: LabelShare(
            share=labels.share[label, at],
            corpus=labels.corpus[label, at],
            low=labels.found.low[label, at],
            high=labels.found.high[label, at],
        )
        for label, name in enumerate(names)
    }


def _label_drafts(
    side: Side,
    at: int,
    labels: _Labels,
    reference: Reference,
    where: Where,
    settings: BalanceSettings,
) -> list[Draft]:
    # Of two classes one says it all, and a question asked twice would count twice (Holm).
    told = range(len(reference.names))[1 if len(reference.names) == 2 else 0 :]
    found = Compared(*(part[:, at] for part in labels.found))
    drafts = []
    for label in told:
        name = reference.names[label]
        share, corpus = labels.share[label, at], labels.corpus[label, at]
        difference = points(found.value[label], found.low[label], found.high[label])
        sentence = (
            f"Of the {where} rows that mention '{side.side}' ({side.group}), {percent(share)} are "
            f"'{name}', {percent(corpus)} in the corpus: {difference}."
        )
        bounds = Bounds.gap(settings.label_gap)
        drafts.append(Draft.of(f"'{name}' given {side}", found, label, bounds, sentence))
    return drafts


def _sides(
    rows: Rows, reference: Reference, where: Where, settings: BalanceSettings
) -> tuple[dict[str, SidesShift], list[Draft]]:
    """Of groups with two sides: the first over the second, of rows that have terms of one alone."""
    named, weights = sides(settings.identity_groups), reference.row_weight(rows)
    shifts, drafts = {}, []
    for group, its in settings.identity_groups.items():
        if len(its) != 2:
            continue
        columns = [named.index(Side(group, side)) for side in its]
        own, counts = (_alone(of, columns) for of in (rows, reference.rows))
        mine, mass = own.sum(axis=0), weights @ counts
        if not mine.sum() or not mass.sum():
            continue
        worth = float(effective(weights, counts.sum(axis=1)))
        corpus = (mass[:1] / mass.sum() * worth, worth)
        found = compare((mine[:1], mine.sum()), corpus, "odds", settings.confidence)
        odds = [float(a) / float(b) if b else np.inf for a, b in (mine, mass)]
        value, low, high = (float(part[0]) for part in found[:3])
        shifts[group] = SidesShift(
            odds=bound(odds[0]),
            corpus=bound(odds[1]),
            ratio=bound(value),
            low=bound(low),
            high=bound(high),
        )
        one, other = its
        sentence = (
            f"Of the {where} rows, {mine[0]} mention '{one}' alone and {mine[1]} '{other}' alone, "
            f"{_to_one(odds[0])} against {_to_one(odds[1])} in the corpus: "
            f"{times(value, low, high, 'as much')}."
        )
        bounds = Bounds.factor(settings.factor)
        drafts.append(Draft.of(f"{group}: {one} to {other}", found, 0, bounds, sentence))
    return shifts, drafts


def _alone(rows: Rows, columns: Sequence[int]) -> Int64:
    """Classes × two: rows that mention the one side and not the other."""
    one, other = (rows.mentions[:, column] for column in columns)
    return rows.counted(np.stack([one & ~other, other & ~one], axis=1))


def _to_one(odds: float) -> str:
    return f"{number(odds)} to 1" if np.isfinite(odds) else "all to none"
