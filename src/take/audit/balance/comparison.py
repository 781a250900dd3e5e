"""Two counts of two numbers of rows: how they compare, and from that to a verdict and a sentence.

For a share p̂ = k/n and another q̂ = j/m, the difference of f(p) and f(q) has the interval

    f(p̂) − f(q̂) − √((f(p̂) − f(l_p))² + (f(u_q) − f(q̂))²)  …  f(p̂) − f(q̂) + √(…),

where [l, u] is the Clopper–Pearson interval of each share (MOVER: Zou & Donner, Statistics in
Medicine 27, 2008; ratios: Donner & Zou, Statistical Methods in Medical Research 21, 2012). f is the
identity for a difference, log for a ratio, logit for a ratio of odds. Without any case the lower
end of a ratio is 0. The p-value is 1 minus the confidence at which the interval first touches "no
difference", so that the two never disagree. By hand: scipy has neither these intervals nor Holm's
correction.

Counts may be fractions: those of a weighted corpus are (Kish, Survey Sampling, 1965).

A figure is `shifted` if chance is ruled out (p ≤ 1 − confidence after Holm's correction for all
figures of the set) and the value itself is outside the bounds of what counts as even. It is `even`
if the whole interval is within the bounds. Everything else is `inconclusive`: a set of forty rows
is not fair just because nothing can be seen in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from take.audit.balance.report import Finding, Verdict, Where
from take.audit.intervals import clopper_pearson
from take.rows.arrays import Float64
from take.rows.corrections import holm

Scale = Literal["difference", "ratio", "odds"]

CONFIDENCE = 0.95
"""Of each interval; in 5 % of sets drawn from the corpus at most, anything is called shifted."""
_CONCLUSIONS: dict[Verdict, str] = {
    "even": "Even.",
    "shifted": "Shifted.",
    "inconclusive": "Inconclusive: too few rows.",
}


EVEN_RATIO = (0.8, 1.25)
"""Of classes, lengths, mentions and vocabulary: at most 1.25 times as much, or as little."""

_SMALLEST_P = 1e-12
_HALVINGS = 20  # of log p between the smallest and 1: four digits


class Compared(NamedTuple):
    """How each share compares: a ratio, or a difference."""

    value: Float64
    low: Float64
    high: Float64
    p: Float64  # two-sided, of no difference


def compare(
    counts: tuple[ArrayLike, ArrayLike],
    reference: tuple[ArrayLike, ArrayLike],
    scale: Scale,
    confidence: float,
) -> Compared:
    """How k of n compares with j of m, for arrays of both.

    >>> found = compare(([40, 0], [400, 40]), ([500, 500], [10_000, 10_000]), "ratio", 0.95)
    >>> found.value.tolist(), found.low.round(2).tolist(), found.high.round(2).tolist()
    ([2.0, 0.0], [1.43, 0.0], [2.71, 1.77])
    >>> found.p.round(4).tolist()
    [0.0001, 0.2575]
    """
    k, n, j, m = np.broadcast_arrays(*(np.asarray(part, float) for part in (*counts, *reference)))
    if not k.size:
        return Compared(*(np.zeros(0) for _ in range(4)))
    value = _value(k / n, j / m, scale)

    def interval(level: float | Float64) -> tuple[Float64, Float64]:
        (center, low, high), (its, its_low, its_high) = (
            _scaled(count, total, scale, level) for count, total in ((k, n), (j, m))
        )
        with np.errstate(invalid="ignore", over="ignore"):
            return (
                center - its - np.hypot(center - low, its_high - its),
                center - its + np.hypot(high - center, its - its_low),
            )

    def misses(level: float | Float64) -> NDArray[np.bool_]:
        low, high = interval(level)
        return (low > 0) | (high < 0)

    surely, maybe = np.full(k.shape, np.log(_SMALLEST_P)), np.zeros(k.shape)
    for _ in range(_HALVINGS):
        middle = (surely + maybe) / 2
        out = misses(-np.expm1(middle))
        surely, maybe = np.where(out, surely, middle), np.where(out, middle, maybe)
    low, high = interval(confidence)
    if scale != "difference":
        with np.errstate(over="ignore"):
            low, high = np.exp(low), np.exp(high)
    return Compared(value, low, high, np.exp(maybe))


def share_against(
    count: ArrayLike, total: ArrayLike, share: ArrayLike, confidence: float
) -> Compared:
    """The ratio of a share to a known one, by the exact interval; p of two tails.

    >>> found = share_against([30], [40], [0.5], 0.95)
    >>> found.value.tolist(), found.low.round(2).tolist(), found.p.round(4).tolist()
    ([1.5], [1.18], [0.0022])
    """
    from scipy.stats import binom

    k, n, known = (np.asarray(part, dtype=np.float64) for part in (count, total, share))
    low, high = clopper_pearson(k, n, confidence)
    tail = np.minimum(binom.cdf(k, n, known), binom.sf(k - 1, n, known))
    return Compared(k / n / known, low / known, high / known, np.minimum(1, 2 * tail))


def _value(p: Float64, q: Float64, scale: Scale) -> Float64:
    if scale == "difference":
        return p - q
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Float64 = p / q if scale == "ratio" else p * (1 - q) / (q * (1 - p))
    return found


def _scaled(
    count: Float64, total: Float64, scale: Scale, confidence: float | Float64
) -> tuple[Float64, Float64, Float64]:
    """The share and its bounds under f; where f is infinite, with half a case more."""
    low, high = clopper_pearson(count, total, confidence)
    share = count / total
    if scale == "difference":
        return share, low, high
    edge = (share <= 0) | ((share >= 1) & (scale == "odds"))
    share = np.where(edge, (count + 0.5) / (total + 1), share)
    with np.errstate(divide="ignore"):
        if scale == "ratio":
            return np.log(share), np.log(low), np.log(high)
        found = tuple(np.log(part) - np.log1p(-part) for part in (share, low, high))
    return found[0], found[1], found[2]


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
