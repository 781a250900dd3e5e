"""From a figure with its interval to a verdict and a sentence.

`shifted` takes two things: that chance is ruled out (p ≤ 1 − confidence after Holm's correction for
all figures of the set), and that the value itself is beyond what counts as even. `even` means that
the whole interval is within. All else is `untold`: a set of forty rows cannot be called fair for
the mere reason that nothing can be seen in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import NamedTuple

import numpy as np

from take.audit.balance.intervals import Compared, holm
from take.audit.balance.report import Finding, Verdict, Where

_CONCLUSIONS: dict[Verdict, str] = {
    "even": "Even.",
    "shifted": "Shifted.",
    "untold": "Too few rows to tell.",
}


class Bounds(NamedTuple):
    """What counts as even."""

    low: float
    high: float

    @classmethod
    def factor(cls, factor: float) -> Bounds:
        """So many times more, or less.

        >>> Bounds.factor(1.25)
        Bounds(low=0.8, high=1.25)
        """
        return cls(1 / factor, factor)

    @classmethod
    def gap(cls, gap: float) -> Bounds:
        """Higher by so much, or lower."""
        return cls(-gap, gap)


class Draft(NamedTuple):
    """A figure before it is judged."""

    name: str
    value: float
    low: float
    high: float
    p: float
    bounds: Bounds
    sentence: str
    """Says the figure; the conclusion is put behind it."""

    @classmethod
    def of(cls, name: str, found: Compared, at: int, bounds: Bounds, sentence: str) -> Draft:
        """The figure at one place of some arrays."""
        value, low, high, p = (float(part[at]) for part in found)
        return cls(name, value, low, high, p, bounds, sentence)


def verdicts(drafts: Sequence[Draft], confidence: float) -> list[tuple[Verdict, float]]:
    """The verdict on each figure of a set, and its p-value for all of them at once.

    >>> bounds = Bounds.factor(1.25)
    >>> figures = [(2, 1.6, 2.5, 1e-6), (1.01, 0.9, 1.1, 0.8), (2, 0.4, 6.0, 0.3)]
    >>> drafts = [Draft("rate", *figure, bounds, "") for figure in figures]
    >>> [verdict for verdict, _ in verdicts(drafts, 0.95)]
    ['shifted', 'even', 'untold']
    """
    adjusted = holm(np.array([draft.p for draft in drafts], dtype=np.float64))
    return [
        (_verdict(draft, float(p), 1 - confidence), float(p))
        for draft, p in zip(drafts, adjusted, strict=True)
    ]


def judged(drafts: Sequence[Draft], where: Where, confidence: float) -> list[Finding]:
    """The findings about one set."""
    return [
        Finding(
            name=draft.name,
            where=where,
            value=bound(draft.value),
            low=bound(draft.low),
            high=bound(draft.high),
            p_adjusted=p,
            verdict=verdict,
            sentence=f"{draft.sentence} {_CONCLUSIONS[verdict]}",
        )
        for draft, (verdict, p) in zip(drafts, verdicts(drafts, confidence), strict=True)
    ]


def bound(value: float) -> float | None:
    """A number that JSON has; none if it has no bound."""
    return float(value) if isfinite(value) else None


def number(value: float) -> str:
    """Three digits from 1 on, two below.

    >>> number(2.04), number(0.0123), number(6012.3)
    ('2.04', '0.012', '6,012')
    """
    return f"{value:,.0f}" if value >= 1000 else f"{value:.{3 if value >= 1 else 2}g}"


def times(value: float, low: float, high: float, what: str = "") -> str:
    """A ratio for people.

    >>> times(2.04, 1.61, 2.57, "as often"), times(0, 0, 3.4)
    ('2.04 times as often (1.61 to 2.57)', 'at most 3.4 times')
    """
    what = f" {what}" if what else ""
    if not isfinite(value):
        return f"at least {number(low)} times{what}"
    if value == 0 and isfinite(high):
        return f"at most {number(high)} times{what}"
    reach = f"{number(low)} to {number(high)}" if isfinite(high) else f"at least {number(low)}"
    return f"{number(value)} times{what} ({reach})"


def points(value: float, low: float, high: float) -> str:
    """A difference of shares for people.

    >>> points(-0.08, -0.3, 0.14)
    '8 points less (−30 to +14)'
    """
    said = f"{100 * abs(value):.2g} points {'more' if value > 0 else 'less'}"
    ends = " to ".join(f"{100 * end:+.2g}" for end in (low, high)).replace("-", "−")
    return f"{said if round(100 * value, 1) else 'no difference'} ({ends})"


def percent(share: float) -> str:
    """A share for people.

    >>> percent(0.5), percent(0.01234), percent(0), percent(0.00004)
    ('50 %', '1.2 %', '0 %', 'under 0.01 %')
    """
    if 0 < share < 1e-4:
        return "under 0.01 %"
    return f"{100 * share:.{0 if share >= 0.1 or share == 0 else 1 if share >= 0.01 else 2}f} %"


def _verdict(draft: Draft, p: float, alpha: float) -> Verdict:
    beyond = draft.value <= draft.bounds.low or draft.value >= draft.bounds.high
    if p <= alpha and beyond:
        return "shifted"
    within = draft.low >= draft.bounds.low and draft.high <= draft.bounds.high
    return "even" if within else "untold"
