"""Mentions of identity groups in a set, and the labels that go with them, compared with the corpus.

Rows are counted, not words, so shorter texts mention fewer of every group: where lengths have
shifted too, the ratio of two sides and the labels are better evidence than the rates.
"""

from __future__ import annotations

import numpy as np

from take.audit.balance.comparison import (
    CONFIDENCE,
    EVEN_RATIO,
    Compared,
    Draft,
    bound,
    compare,
    number,
    points,
    times,
)
from take.audit.balance.report import LabelShare, MentionShift, SidesShift, Where
from take.audit.balance.rows import Reference, Rows, effective
from take.audit.balance.terms import Groups, sides
from take.text.format import share as percent

_EVEN_LABELS = (-0.1, 0.1)  # labels among the rows that mention a group: difference of shares


def mention_shifts(
    rows: Rows, reference: Reference, where: Where, groups: Groups
) -> tuple[dict[str, MentionShift], list[Draft]]:
    """How often each side is mentioned, and with which labels.

    Labels: P(c | g) of the set, and s_c r_c / Σ s r of the corpus, where r_c = P(g | c).
    """
    counts, weights = reference.rows.mentions_by_class, reference.row_weight(rows)
    own, mass = rows.mentions.sum(axis=0), weights[:, None] * counts
    reweighted, n_own = weights @ counts, np.maximum(own, 1)
    total = float(effective(weights, reference.rows.class_sizes))
    rates = compare((own, len(rows)), (reweighted * total, total), "ratio", CONFIDENCE)
    share = rows.mentions_by_class / n_own
    corpus = mass / np.where(mass.sum(axis=0) > 0, mass.sum(axis=0), 1)
    worth = np.maximum(effective(weights, counts), 1e-9)
    labels = compare(
        (rows.mentions_by_class, n_own), (corpus * worth, worth), "difference", CONFIDENCE
    )
    shifts, drafts, label_drafts = {}, [], []
    for at, side in enumerate(sides(groups)):
        mentioned = f"mention '{side.side}' ({side.group})"
        # Only where both set and corpus have such rows.
        names = list(enumerate(reference.names if own[at] and mass[:, at].sum() > 0 else ()))
        found = Compared(*(part[:, at] for part in labels))
        shift = shifts[str(side)] = MentionShift(
            rows=own[at],
            share=own[at] / len(rows),
            corpus=counts[:, at].sum() / len(reference.rows),
            corpus_reweighted=reweighted[at],
            ratio=bound(rates.value[at]),
            low=bound(rates.low[at]) if own[at] or reweighted[at] else None,
            high=bound(rates.high[at]) if reweighted[at] else None,
            labels={
                name: LabelShare(
                    share=share[label, at],
                    corpus=corpus[label, at],
                    low=found.low[label],
                    high=found.high[label],
                )
                for label, name in names
            },
        )
        if own[at] or reweighted[at]:
            ratio = times(rates.value[at], rates.low[at], rates.high[at], "as often")
            sentence = (
                f"{percent(shift.share)} of the {where} rows {mentioned}, "
                f"{percent(shift.corpus_reweighted)} in the corpus: {ratio}."
            )
            drafts.append(Draft.of(f"mentions of {side}", rates, at, EVEN_RATIO, sentence))
        # Of two classes one is enough: the same question twice would count twice (Holm).
        for label, name in names[len(names) == 2 :]:
            difference = points(found.value[label], found.low[label], found.high[label])
            sentence = (
                f"Of the {where} rows that {mentioned}, {percent(share[label, at])} are '{name}', "
                f"{percent(corpus[label, at])} in the corpus: {difference}."
            )
            title = f"'{name}' given {side}"
            label_drafts.append(Draft.of(title, found, label, _EVEN_LABELS, sentence))
    return shifts, drafts + label_drafts


def sides_shifts(
    rows: Rows, reference: Reference, where: Where, groups: Groups
) -> tuple[dict[str, SidesShift], list[Draft]]:
    """Of groups with two sides: the first over the second, of rows that have terms of one only."""
    weights, names = reference.row_weight(rows), [side.group for side in sides(groups)]
    shifts, drafts = {}, []
    for group, its in groups.items():
        if len(its) != 2:
            continue
        first = names.index(group)
        # Classes × two: rows that mention one side and not the other.
        own, counts = (
            of.counted(of.mentions[:, [first, first + 1]] & ~of.mentions[:, [first + 1, first]])
            for of in (rows, reference.rows)
        )
        mine, mass = own.sum(axis=0), weights @ counts
        if not mine.sum() or not mass.sum():
            continue
        worth = float(effective(weights, counts.sum(axis=1)))
        corpus = (mass[:1] / mass.sum() * worth, worth)
        found = compare((mine[:1], mine.sum()), corpus, "odds", CONFIDENCE)
        odds = [float(a) / float(b) if b else np.inf for a, b in (mine, mass)]
        value, low, high = (float(part[0]) for part in found[:3])
        figures = zip(
            ("odds", "corpus", "ratio", "low", "high"), (*odds, value, low, high), strict=True
        )
        shifts[group] = SidesShift(**{name: bound(figure) for name, figure in figures})
        one, other = its
        sentence = (
            f"Of the {where} rows, {mine[0]} mention only '{one}' and {mine[1]} only '{other}', "
            f"{_to_one(odds[0])} compared with {_to_one(odds[1])} in the corpus: "
            f"{times(value, low, high, 'as much')}."
        )
        drafts.append(Draft.of(f"{group}: {one} to {other}", found, 0, EVEN_RATIO, sentence))
    return shifts, drafts


def _to_one(odds: float) -> str:
    return f"{number(odds)} to 1" if np.isfinite(odds) else "all to none"
