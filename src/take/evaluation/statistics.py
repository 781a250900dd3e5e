"""Statistics of scores over seeds: means, standard errors, paired differences.

A score has two sources of variation, the distilled set and the training on it:

    y_ij = μ + a_i + e_ij,        a_i ~ (0, σ²_set),   e_ij ~ (0, σ²_training),

where set i is trained on with seeds j = 1 … n_i. More trainings on one set do not show how another
set would score, so that standard errors and intervals are over the sets' means ȳ_i.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import hypot, sqrt
from typing import Literal, NamedTuple

import numpy as np

from take.errors import InputError
from take.rows.arrays import Float64

Over = Literal["sets", "trainings", "nothing"]
Verdict = Literal["better", "worse", "no difference shown"]

CONFIDENCE = 0.95
# Scores are ratios of counts: smaller differences are rounding.
_EQUAL = 1e-12


class Cell(NamedTuple):
    """Which distilled set, and which training on it.

    A method that draws nothing makes the same set for every set seed. It is paired like any other,
    as long as each cell is a separate training.
    """

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
    """The mean of a method's scores and the sources of its variation."""

    mean: float
    standard_error: float | None  # None for a single cell
    over: Over  # what the error is over; "trainings" is valid for this one set only
    n_sets: int
    n_cells: int
    set_deviation: float | None  # σ_set; None if it cannot be separated from σ_training
    training_deviation: float | None  # σ_training; None unless some set was trained on twice

    @property
    def degrees_of_freedom(self) -> int:
        """Of the standard error."""
        return {"sets": self.n_sets, "trainings": self.n_cells, "nothing": 1}[self.over] - 1


def summarise(scores: Mapping[Cell, float]) -> Summary:
    """The mean of ȳ_i over a sets, its error s(ȳ_i)/√a, and the two components by ANOVA.

        σ̂²_training = Σ_ij (y_ij − ȳ_i)² / (N − a)
        σ̂²_set = max(0, s²(ȳ_i) − σ̂²_training · mean(1/n_i))

    For a single set, the error is over its trainings.

    >>> cells = {Cell(0, 0): 0.70, Cell(0, 1): 0.72, Cell(1, 0): 0.80, Cell(1, 1): 0.82}
    >>> found = summarise(cells)
    >>> round(found.mean, 3), round(found.standard_error, 3)
    (0.76, 0.05)
    >>> round(found.set_deviation, 4), round(found.training_deviation, 4)
    (0.07, 0.0141)
    """
    groups = _by_set(scores)
    means = np.array([group.mean() for group in groups])
    n_sets, n_cells = len(groups), len(scores)
    within = between = own = error = None
    over: Over = "nothing"
    if n_cells > n_sets:
        squares = sum(float(((group - group.mean()) ** 2).sum()) for group in groups)
        within = squares / (n_cells - n_sets)
        over, error = "trainings", sqrt(within / n_cells)
    if n_sets > 1:
        between = float(means.var(ddof=1))
        over, error = "sets", sqrt(between / n_sets)
    if between is not None and within is not None:
        own = max(0.0, between - within * float(np.mean([1 / len(group) for group in groups])))
    return Summary(
        mean=float(means.mean()),
        standard_error=error,
        over=over,
        n_sets=n_sets,
        n_cells=n_cells,
        set_deviation=None if own is None else sqrt(own),
        training_deviation=None if within is None else sqrt(within),
    )


@dataclass(frozen=True)
class Difference:
    """How much higher one method scores than another on the same seeds."""

    mean: float
    standard_error: float | None
    interval: Interval | None  # None if seeds made no difference, or there is only one
    pairs: int

    @property
    def verdict(self) -> Verdict:
        """Better or worse only if the interval excludes 0."""
        return "no difference shown" if self.interval is None else self.interval.verdict


def paired_difference(ours: Mapping[Cell, float], theirs: Mapping[Cell, float]) -> Difference:
    """d̄ ± t_{a−1, 0.975} · s(d̄_i)/√a over the cells that both have.

    The differences d_ij of equal cells are averaged within each set seed i, and the interval is
    over set seeds; if there is only one, over trainings. Differences without any spread have no
    interval: learners and methods that draw nothing are one observation, whatever the seeds.

    >>> ours = {Cell(seed, 0): 0.80 + 0.01 * seed for seed in range(5)}
    >>> theirs = {Cell(seed, 0): 0.78 for seed in range(5)}
    >>> found = paired_difference(ours, theirs)
    >>> round(found.mean, 3), [round(bound, 4) for bound in found.interval], found.verdict
    (0.04, [0.0204, 0.0596], 'better')
    """
    from scipy.stats import t

    common = sorted(set(ours) & set(theirs))
    if not common:
        raise InputError(
            f"{len(ours)} and {len(theirs)} scores have no seeds in common",
            where="paired difference",
            allowed="one seed of distilled set and training or more that both were run with",
            remedy="run both methods with the same seeds",
        )
    differences = {cell: ours[cell] - theirs[cell] for cell in common}
    found = summarise(differences)
    interval = None
    if found.standard_error is not None and found.standard_error > _EQUAL:
        reach = found.standard_error * float(t.ppf((1 + CONFIDENCE) / 2, found.degrees_of_freedom))
        interval = Interval(found.mean - reach, found.mean + reach)
    return Difference(found.mean, found.standard_error, interval, len(common))


class Share(NamedTuple):
    """What part of the full-data accuracy is kept."""

    value: float
    standard_error: float | None


def share_kept(distilled: Summary, full: Summary) -> Share:
    """The share r = μ̂ / μ̂_full, with the error √(se² + r² se_full²) / μ̂_full of the delta method.

    It is not corrected for guessing, which keeps a half at two balanced classes.

    >>> ours = summarise({Cell(0, 0): 0.80, Cell(1, 0): 0.82})
    >>> share_kept(ours, summarise({Cell(0, 0): 0.90})).value
    0.9
    """
    if not full.mean > 0:
        raise InputError(
            f"the full-data score is {full.mean:g}",
            where="share kept",
            allowed="above 0",
            remedy="check the learner trained on all rows",
        )
    value = distilled.mean / full.mean
    if distilled.standard_error is None:
        return Share(value, None)
    # A single full-data run counts as exact.
    full_error = full.standard_error or 0.0
    return Share(value, hypot(distilled.standard_error, value * full_error) / full.mean)


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
