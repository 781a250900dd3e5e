"""Statistics of scores: sources of variation, intervals and p-values of differences.

A score has three sources of variation: the training set, the training on it, and the evaluation
rows. Of the first two,

    y_ij = μ + a_i + e_ij,        a_i ~ (0, σ²_set),   e_ij ~ (0, σ²_training),

where set i is trained on with seeds j = 1 … n_i. More trainings on one set do not show how another
set would score, so that errors and intervals are over the sets' means ȳ_i, and the pools these come
from (`parts_of_sets`); and over the rows, which `take.evaluation.bootstrap` resamples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Literal, NamedTuple

import numpy as np

from take.errors import InputError
from take.rows.arrays import Float64

Verdict = Literal["better", "worse", "no difference shown", "not measured"]

CONFIDENCE = 0.95
# Scores are ratios of counts: smaller differences are rounding.
EQUAL = 1e-12
_SMALLEST_P = 1e-12


class Cell(NamedTuple):
    """Which distilled set, and which training on it."""

    set_seed: int
    training_seed: int


class Interval(NamedTuple):
    """A confidence interval."""

    low: float
    high: float

    @property
    def verdict(self) -> Verdict:
        """What a difference with this interval shows.

        >>> Interval(0.2, 1.4).verdict, Interval(-0.2, 1.4).verdict
        ('better', 'no difference shown')
        """
        if self.low > 0:
            return "better"
        return "worse" if self.high < 0 else "no difference shown"


@dataclass(frozen=True)
class Summary:
    """The mean of a method's scores, and how much sets and trainings vary."""

    mean: float
    set_deviation: float | None  # σ_set; None if it cannot be separated from σ_training
    training_deviation: float | None  # σ_training; None unless some set was trained on twice


def summarise(scores: Mapping[Cell, float]) -> Summary:
    """The mean of ȳ_i over a sets, and the two components by ANOVA.

        σ̂²_training = Σ_ij (y_ij − ȳ_i)² / (N − a)
        σ̂²_set = max(0, s²(ȳ_i) − σ̂²_training · mean(1/n_i))

    >>> cells = {Cell(0, 0): 0.70, Cell(0, 1): 0.72, Cell(1, 0): 0.80, Cell(1, 1): 0.82}
    >>> found = summarise(cells)
    >>> round(found.mean, 3), round(found.set_deviation, 4), round(found.training_deviation, 4)
    (0.76, 0.07, 0.0141)
    """
    groups = _by_set(scores)
    means = np.array([group.mean() for group in groups])
    n_sets, n_cells = len(groups), len(scores)
    within = own = None
    if n_cells > n_sets:
        squares = sum(float(((group - group.mean()) ** 2).sum()) for group in groups)
        within = squares / (n_cells - n_sets)
    if n_sets > 1 and within is not None:
        between = float(means.var(ddof=1))
        own = max(0.0, between - within * float(np.mean([1 / len(group) for group in groups])))
    return Summary(
        mean=float(means.mean()),
        set_deviation=None if own is None else sqrt(own),
        training_deviation=None if within is None else sqrt(within),
    )


class Part(NamedTuple):
    """What one source adds to the variance of a mean."""

    variance: float
    freedom: int
    """Degrees of freedom of this estimate."""


def parts_of_sets(scores: Float64, pools: Sequence[object] | None = None) -> list[Part]:
    """What other training sets, and other pools to select them from, add to the variance of a mean.

    Sets of one pool share what it adds to their scores:

        y_i = μ + b_p(i) + a_i,        b_p ~ (0, σ²_pool),   a_i ~ (0, σ²_set).

    Of a sets, n_p are from pool p = 1 … G. With q = Σ_p n_p² / a and h = (a − q) / (G − 1), the
    mean squares between pools and within them have the expectations

        E MS_between = σ²_set + h σ²_pool,        E MS_within = σ²_set,

    and the mean has the variance (σ²_set + q σ²_pool) / a. Two pools say hardly anything about
    σ²_pool. So it is taken to be σ²_set, and only what the pools differ by beyond that is estimated
    from them, with its few degrees of freedom:

        s² = (SS_within + SS_between / (1 + h)) / (a − 1)
        V_sets  = (1 + q) s² / a                                a − 1 degrees of freedom
        V_pools = (q / a) max(0, MS_between − (1 + h) s²) / h   G − 1 degrees of freedom

    Of simulated 95 % intervals (`half_width`) with 2 pools of 2, 3 and 5 sets, 97 % cover where
    σ²_pool = σ²_set, 99 % and more where σ²_pool = 0, and 94, 92 and 90 % where σ²_pool = 4 σ²_set.
    Without regard to pools, as s²(y) / a, it would be 89, 82 and 70 % where σ²_pool = σ²_set. The
    price is intervals 1.8, 2.0 and 2.4 times as wide (median) where pools do not differ
    (`benchmarks/pool_coverage.py`).

    Without pools, with a single one, or with a pool for each set, V_sets = s²(y) / a alone.
    Intervals of a single pool hold for that pool.

    >>> scores = np.array([0.70, 0.72, 0.80, 0.82])
    >>> [(round(part.variance, 5), part.freedom) for part in parts_of_sets(scores)]
    [(0.00087, 3)]
    >>> [(round(part.variance, 5), part.freedom) for part in parts_of_sets(scores, [0, 0, 1, 1])]
    [(0.00093, 3), (0.00157, 1)]
    """
    n = len(scores)
    if n == 1:
        return [Part(0.0, 1)]
    groups: dict[object, list[float]] = {}
    for place, score in enumerate(scores.tolist()):
        pool = None if pools is None else pools[place]
        groups.setdefault(("set", place) if pool is None else ("pool", pool), []).append(score)
    if len(groups) in (1, n):
        return [Part(float(scores.var(ddof=1)) / n, n - 1)]
    sizes = np.array([len(group) for group in groups.values()])
    means = np.array([np.mean(group) for group in groups.values()])
    squares_between = float((sizes * (means - scores.mean()) ** 2).sum())
    squares_within = float(((scores - scores.mean()) ** 2).sum()) - squares_between
    freedom, q = len(groups) - 1, float((sizes**2).sum()) / n
    h = (n - q) / freedom
    variance = (max(0.0, squares_within) + squares_between / (1 + h)) / (n - 1)
    beyond = max(0.0, squares_between / freedom - (1 + h) * variance) / h
    return [Part((1 + q) * variance / n, n - 1), Part(q * beyond / n, freedom)]


@dataclass(frozen=True)
class Difference:
    """How much higher one method scores than another."""

    mean: float
    standard_error: float | None = None
    interval: Interval | None = None
    """None where it is not measured."""
    p: float | None = None
    """Of a difference of 0, two-sided."""
    pairs: int = 0
    """Set seeds that both have; if sets of one are not told apart by seeds, sets of the other."""

    @property
    def verdict(self) -> Verdict:
        """Better or worse only if the interval excludes 0."""
        return "not measured" if self.interval is None else self.interval.verdict


def half_width(parts: Sequence[Part], p: float) -> float:
    """√(Σ_k t²_{f_k, 1−p/2} V_k): how far the interval at the level 1 − p reaches."""
    from scipy.special import stdtrit

    squares = sum(stdtrit(freedom, p / 2) ** 2 * own for own, freedom in parts)
    reach: float = np.sqrt(squares)
    return reach


def judged(mean: float, parts: Sequence[Part], pairs: int = 0) -> Difference:
    """The interval of a mean whose variance is Σ_k V_k, V_k estimated with f_k degrees of freedom.

        d̄ ± √(Σ_k t²_{f_k, 0.975} V_k),    p: the level at which this reaches from d̄ to 0

    With a single source it is Student's interval. With several, squares of half-widths add up
    (MOVER: Zou & Donner, Statistics in Medicine 27, 2008), and the level is kept whatever their
    shares. Satterthwaite's degrees of freedom do not keep it with so few sets, because a variance
    of sets that is small by chance also looks like a small share: with 3 sets, 92 % of its 95 %
    intervals cover (2 sets: 87 %), and p < 0.001 is found in up to 1.6 % of true null hypotheses,
    which would survive a correction for many comparisons. This one: 95 to 98 %, at most 0.1 %
    (`tests/evaluation/test_statistics.py` counts them).

    >>> found = judged(0.04, [Part(0.01**2, 4)])
    >>> [round(bound, 4) for bound in found.interval], round(found.p, 4), found.verdict
    ([0.0122, 0.0678], 0.0161, 'better')
    >>> [round(bound, 4) for bound in judged(0.04, [Part(0.01**2, 4), Part(0.01**2, 871)]).interval]
    [0.006, 0.074]
    """
    from scipy.optimize import brentq

    variance = sum(part.variance for part in parts)
    if variance < EQUAL**2:
        # Equal predictions; or opposite ones on so few rows that nothing can be said.
        none = Difference(mean, pairs=pairs)
        return replace(none, interval=Interval(0, 0), p=1.0) if abs(mean) < EQUAL else none

    def beyond(p: float) -> float:
        return abs(mean) - half_width(parts, p)

    p = 1.0
    if abs(mean) > EQUAL:
        p = _SMALLEST_P if beyond(_SMALLEST_P) >= 0 else float(brentq(beyond, _SMALLEST_P, 1))
    reach = float(half_width(parts, 1 - CONFIDENCE))
    return Difference(mean, sqrt(variance), Interval(mean - reach, mean + reach), p, pairs)


def _by_set(scores: Mapping[Cell, float]) -> list[Float64]:
    """Scores of each set, sets and trainings in order of their seeds."""
    if not scores or not np.isfinite(list(scores.values())).all():
        raise InputError(
            "there are no scores, or some are not finite",
            where="summary of scores",
            allowed="one finite score or more",
            remedy="leave out cells that failed",
        )
    groups: dict[int, list[float]] = {}
    for cell in sorted(scores):
        groups.setdefault(cell.set_seed, []).append(scores[cell])
    return [np.array(group) for group in groups.values()]
