"""Two counts of two numbers of rows: how they compare, with intervals that hold for small counts.

For a share p̂ = k/n and another q̂ = j/m, the difference of f(p) and f(q) has the interval

    f(p̂) − f(q̂) − √((f(p̂) − f(l_p))² + (f(u_q) − f(q̂))²)  …  f(p̂) − f(q̂) + √(…),

where [l, u] is the Clopper–Pearson interval of each share (MOVER: Zou & Donner, Statistics in
Medicine 27, 2008; ratios: Donner & Zou, Statistical Methods in Medical Research 21, 2012). f is the
identity for a difference, log for a ratio, logit for a ratio of odds. Without any case the lower
end of a ratio is 0. The p-value is 1 minus the confidence at which the interval first touches "no
difference", so that the two never disagree. By hand: scipy has neither these intervals nor Holm's
correction.

Counts may be fractions: those of a weighted corpus are (Kish, Survey Sampling, 1965).
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from take.audit.intervals import clopper_pearson
from take.rows.arrays import Float64

Scale = Literal["difference", "ratio", "odds"]

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


def holm(p: Float64) -> Float64:
    """p-values corrected for all of them (Holm 1979).

    >>> holm(np.array([0.01, 0.5, 0.02])).tolist()
    [0.03, 0.5, 0.04]
    """
    order = np.argsort(p, kind="stable")
    steps = p[order] * np.arange(len(p), 0, -1)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1, np.maximum.accumulate(steps))
    return adjusted


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
