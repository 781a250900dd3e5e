"""Mentions of identity groups in a set, and the labels that go with them, compared with the corpus.

Rows are counted, not words, so shorter texts mention fewer of every group: where lengths have
shifted too, the ratio of two sides and the labels are better evidence than the rates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from take.audit.balance.comparison import Compared, compare
from take.audit.balance.findings import (
    CONFIDENCE,
    EVEN_RATIO,
    Bounds,
    Draft,
    bound,
    number,
    points,
    times,
)
from take.audit.balance.report import LabelShare, MentionShift, SidesShift, Where
from take.audit.balance.rows import Reference, Rows, effective
from take.audit.balance.terms import Groups, Side, sides
from take.rows.arrays import Float64, Int64
from take.text.format import share as percent

_EVEN_LABELS = Bounds(-0.1, 0.1)  # labels among the rows that mention a group: difference of shares


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


def mention_shifts(rows: Rows, reference: Reference, where: Where, groups: Groups) -> Mentions:
    """How often each side is mentioned, with which labels, and the ratio of two sides."""
    named = sides(groups)
    counts, weights = reference.rows.mentions_by_class, reference.row_weight(rows)
    own, reweighted = rows.mentions.sum(axis=0), weights @ counts
    total = float(effective(weights, reference.rows.class_sizes))
    rates = compare((own, len(rows)), (reweighted * total, total), "ratio", CONFIDENCE)
    labels = _labels(rows, reference)
    shifts, drafts = {}, []
    for at, side in enumerate(named):
        shift = MentionShift(
            rows=own[at],
            share=own[at] / len(rows),
            corpus=counts[:, at].sum() / len(reference.rows),
            corpus_reweighted=reweighted[at],
            ratio=bound(rates.value[at]),
            low=bound(rates.low[at]) if own[at] or reweighted[at] else None,
            high=bound(rates.high[at]) if reweighted[at] else None,
            labels=_label_shares(labels, at, reference.names) if labels.is_there[at] else {},
        )
        shifts[str(side)] = shift
        if own[at] or reweighted[at]:
            ratio = times(rates.value[at], rates.low[at], rates.high[at], "as often")
            sentence = (
                f"{percent(shift.share)} of the {where} rows mention '{side.side}' ({side.group}), "
                f"{percent(shift.corpus_reweighted)} in the corpus: {ratio}."
            )
            drafts.append(Draft.of(f"mentions of {side}", rates, at, EVEN_RATIO, sentence))
    for at in np.flatnonzero(labels.is_there).tolist():
        drafts += _label_drafts(named[at], at, labels, reference.names, where)
    pairs, pair_drafts = _sides(rows, reference, where, groups)
    return Mentions(shifts, pairs, drafts + pair_drafts)


def _labels(rows: Rows, reference: Reference) -> _Labels:
    """P(c | g) of the set, and s_c r_c / Σ s r of the corpus, where r_c = P(g | c)."""
    counts, weights = reference.rows.mentions_by_class, reference.row_weight(rows)
    mine, total = rows.mentions_by_class, rows.mentions.sum(axis=0)
    mass = weights[:, None] * counts
    is_there = (total > 0) & (mass.sum(axis=0) > 0)
    share = mine / np.maximum(total, 1)
    corpus = mass / np.where(mass.sum(axis=0) > 0, mass.sum(axis=0), 1)
    worth = np.maximum(effective(weights, counts), 1e-9)
    found = compare((mine, np.maximum(total, 1)), (corpus * worth, worth), "difference", CONFIDENCE)
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
    side: Side, at: int, labels: _Labels, names: Sequence[str], where: Where
) -> list[Draft]:
    found = Compared(*(part[:, at] for part in labels.found))
    drafts = []
    # Of two classes one is enough: the same question twice would count twice (Holm).
    for label in range(1 if len(names) == 2 else 0, len(names)):
        share, corpus = labels.share[label, at], labels.corpus[label, at]
        difference = points(found.value[label], found.low[label], found.high[label])
        sentence = (
            f"Of the {where} rows that mention '{side.side}' ({side.group}), {percent(share)} are "
            f"'{names[label]}', {percent(corpus)} in the corpus: {difference}."
        )
        title = f"'{names[label]}' given {side}"
        drafts.append(Draft.of(title, found, label, _EVEN_LABELS, sentence))
    return drafts


def _sides(
    rows: Rows, reference: Reference, where: Where, groups: Groups
) -> tuple[dict[str, SidesShift], list[Draft]]:
    """Of groups with two sides: the first over the second, of rows that have terms of one only."""
    named, weights = sides(groups), reference.row_weight(rows)
    shifts, drafts = {}, []
    for group, its in groups.items():
        if len(its) != 2:
            continue
        columns = [named.index(Side(group, side)) for side in its]
        own, counts = (_only_one(of, columns) for of in (rows, reference.rows))
        mine, mass = own.sum(axis=0), weights @ counts
        if not mine.sum() or not mass.sum():
            continue
        worth = float(effective(weights, counts.sum(axis=1)))
        corpus = (mass[:1] / mass.sum() * worth, worth)
        found = compare((mine[:1], mine.sum()), corpus, "odds", CONFIDENCE)
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
            f"Of the {where} rows, {mine[0]} mention only '{one}' and {mine[1]} only '{other}', "
            f"{_to_one(odds[0])} compared with {_to_one(odds[1])} in the corpus: "
            f"{times(value, low, high, 'as much')}."
        )
        drafts.append(Draft.of(f"{group}: {one} to {other}", found, 0, EVEN_RATIO, sentence))
    return shifts, drafts


def _only_one(rows: Rows, columns: Sequence[int]) -> Int64:
    """Classes × two: rows that mention one side and not the other."""
    one, other = (rows.mentions[:, column] for column in columns)
    return rows.counted(np.stack([one & ~other, other & ~one], axis=1))


def _to_one(odds: float) -> str:
    return f"{number(odds)} to 1" if np.isfinite(odds) else "all to none"
