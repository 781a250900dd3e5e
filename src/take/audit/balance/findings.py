"""From a figure with its interval to a verdict and a sentence.

`shifted` requires two things: chance is ruled out (p ≤ 1 − confidence after Holm's correction for
all figures of the set), and the value itself is outside the bounds of what counts as even. `even`
means that the whole interval is within the bounds. Everything else is `inconclusive`: a set of
forty rows is not fair just because nothing can be seen in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import NamedTuple

import numpy as np

from take.audit.balance.comparison import Compared, holm
from take.audit.balance.report import Finding, Verdict, Where

CONFIDENCE = 0.95
"""Of each interval; in 5 % of sets drawn from the corpus at most, anything is called shifted."""
_CONCLUSIONS: dict[Verdict, str] = {
    "even": "Even.",
    "shifted": "Shifted.",
    "inconclusive": "Inconclusive: too few rows.",
}


EVEN_RATIO = (0.8, 1.25)
"""Of classes, lengths, mentions and vocabulary: at most 1.25 times as much, or as little."""


class Draft(NamedTuple):
    """A figure without its verdict."""

    name: str
    value: float
    low: float
    high: float
    p: float
    bounds: tuple[float, float]  # what counts as even
    sentence: str
    """States the figure; the conclusion is appended."""

    @classmethod
    def of(
        cls, name: str, found: Compared, at: int, bounds: tuple[float, float], sentence: str
    ) -> Draft:
        """The figure at one position of the arrays."""
        value, low, high, p = (float(part[at]) for part in found)
        return cls(name, value, low, high, p, bounds, sentence)


def verdicts(drafts: Sequence[Draft]) -> list[tuple[Verdict, float]]:
    """The verdict on each figure of a set, and its p-value corrected for all of them.

    >>> figures = [(2, 1.6, 2.5, 1e-6), (1.01, 0.9, 1.1, 0.8), (2, 0.4, 6.0, 0.3)]
    >>> drafts = [Draft("rate", *figure, EVEN_RATIO, "") for figure in figures]
    >>> [verdict for verdict, _ in verdicts(drafts)]
    ['shifted', 'even', 'inconclusive']
    """
    found: list[tuple[Verdict, float]] = []
    adjusted = holm(np.array([draft.p for draft in drafts], dtype=np.float64))
    for draft, p in zip(drafts, adjusted.tolist(), strict=True):
        low, high = draft.bounds
        if p <= 1 - CONFIDENCE and (draft.value <= low or draft.value >= high):
            found.append(("shifted", p))
        else:
            is_even = draft.low >= low and draft.high <= high
            found.append(("even" if is_even else "inconclusive", p))
    return found


def judged(drafts: Sequence[Draft], where: Where) -> list[Finding]:
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
        for draft, (verdict, p) in zip(drafts, verdicts(drafts), strict=True)
    ]


def bound(value: float) -> float | None:
    """A number that JSON can hold; None if it is infinite."""
    return float(value) if isfinite(value) else None


def number(value: float) -> str:
    """Three digits from 1 on, two below.

    >>> number(2.04), number(0.0123), number(6012.3)
    ('2.04', '0.012', '6,012')
    """
    return f"{value:,.0f}" if value >= 1000 else f"{value:.{3 if value >= 1 else 2}g}"


def times(value: float, low: float, high: float, what: str = "") -> str:
    """A ratio with its interval.

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
    """A difference of shares with its interval.

    >>> points(-0.08, -0.3, 0.14)
    '8 points less (−30 to +14)'
    """
    difference = f"{100 * abs(value):.2g} points {'more' if value > 0 else 'less'}"
    ends = " to ".join(f"{100 * end:+.2g}" for end in (low, high)).replace("-", "−")
    return f"{difference if round(100 * value, 1) else 'no difference'} ({ends})"
