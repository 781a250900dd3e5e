"""What was measured of a distilled set: numbers and class names only, each with its meaning.

It holds no text, because MLflow logs it. All figures are indicators: the theory behind them (METHOD
§5) assumes much of what a user would like to be promised, so none of them is a guarantee.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import BaseModel, Field

from take import frozen
from take.frozen import Frozen


class Side(Frozen):
    """How far the sampled corpus is from some rows of the pool."""

    cost: float
    """Σ w min C: mean squared distance, by weight, of a corpus row to the nearest of these rows
    that the scope allows; what selection by transport minimises (Eq. 3)."""
    w1: float
    """Exact W₁ from the weighted corpus to these rows, with equal masses and of any class: the
    distance in Theorem 1. It also counts mass that does not fit the rows."""
    w1_within: float | None = None
    """Exact W₁ with transport within classes only, Σ_y mass_y · W₁(P^w(·|y), P(·|y)): Theorem 1's
    loss depends on the label, too. At least `w1` where classes have the same mass in both; it does
    not count mass of a class that does not fit. None if a class of the sample has no row here."""
    w1_floor: float
    """Σ w min ‖·‖ over these rows of any class: a lower bound of W₁ for any weights on them and for
    any choice among them."""

    @classmethod
    def mean(cls, sides: Sequence[Side]) -> Side:
        """The mean of each figure; None where one is None."""
        figures = {name: [getattr(side, name) for side in sides] for name in cls.model_fields}
        return cls.model_validate(
            {name: None if None in part else float(np.mean(part)) for name, part in figures.items()}
        )


class Comparison(Frozen):
    """Pool, random choice and distilled rows against the same sample of the corpus."""

    pool: Side
    """The whole pool, before selection. No choice from it has a lower cost. Its W₁ is not such a
    bound: a choice without the pool's odd rows can be nearer to the corpus than the whole pool;
    only its `w1_floor` bounds every choice."""
    random: Side
    """Equally many random pool rows (of each class, with the scope `class`), mean over several
    draws: the baseline."""
    distilled: Side
    """The distilled rows, after selection."""
    reached: float | None
    """Position of the cost between the random choice (0) and the whole pool (1); below 0 the
    distilled rows cover worse than random ones. None if these two are equal."""
    sampled_rows: int
    """Corpus rows, drawn by weight, that represent the corpus here. Sampling biases W₁ upwards:
    compare it only at equal sample size."""
    corpus_rows: int
    """Rows of the corpus."""
    random_draws: int
    """Random choices averaged."""


class PlanCost(Frozen):
    """The entropic plan of Eq. 11 from the sampled corpus to the distilled rows, equal masses."""

    cost: float
    """⟨γ, C⟩: mean squared distance that mass travels when every distilled row must receive the
    same mass, of any class; above `cost`, the masses do not fit the rows."""
    marginal_error: float
    """Σ_c |Σ_n γ_nc − 1/K|: mass that is still on the wrong row; the solver's own error, small by
    the tolerance at which it stopped."""
    epsilon: float
    """ε of Eq. 11."""
    iterations: int
    """Passes over the sample until it converged."""


class Reweighting(Frozen):
    """How far the weights move the corpus: Remark 1."""

    w1: float
    """Exact W₁(P_D, P^w) on a sample of corpus rows: 0 with equal weights; the part of the distance
    to the plain corpus that is due to weighting."""
    bound: float
    """2 · ½ Σ |w_n − 1/N| over all rows: Remark 1's bound on W₁(P_D, P^w), with 2, the diameter of
    the unit sphere; that of the corpus is smaller and not measured, so this is loose."""
    total_variation: float
    """½ Σ |w_n − 1/N|: the share of all mass that the weights shift to other rows."""
    sampled_rows: int
    """Corpus rows drawn, uniformly, for the exact distance."""


class Covering(Frozen):
    """Distances of corpus rows to the nearest distilled row."""

    mean: float
    """r̄ of Assumption 1, with the distilled rows as the pool."""
    weighted_mean: float
    """The same with each row counted by its weight."""
    p95: float
    """95 % of corpus rows have a distilled row at most this far."""
    p99: float
    """99 % of corpus rows have a distilled row at most this far."""
    largest: float
    """The row covered worst: r of Assumption 1."""


class Coverage(Frozen):
    """Whether there is a distilled row near every corpus row, over the whole corpus."""

    any_class: Covering
    own_class: Covering | None
    """To the nearest distilled row of the row's own class; rows of a class without one are left
    out. None if no class has one."""
    random: Covering
    """The same within the scope (own class, or any if global), for one random choice of the same
    size: the baseline."""
    uncovered_rows: int
    """Corpus rows of a class without a distilled row."""


class Representation(Frozen):
    """How evenly the distilled rows share the corpus among them."""

    effective_rows: float
    """(Σ m)² / Σ m² of the masses the rows represent: the number of rows of equal mass that would
    be as uneven; far below the number of rows, a few represent nearly all."""
    effective_share: float
    """The same as a share of the distilled rows."""
    largest_mass: float
    """Share of the corpus's weight of the heaviest row."""
    idle_rows: int
    """Distilled rows that are no corpus row's main target."""
    stray_rows: int
    """Corpus rows assigned to a row of another class, because their own has no distilled row; 0
    with the scope `global`."""
    stray_mass: float
    """Share of the corpus's weight of such rows."""


class ClassDistilled(Frozen):
    """One class; distances are to distilled rows of the class itself, none where it has none."""

    rows: int
    """Distilled rows of this class."""
    corpus_rows: int
    """Corpus rows of this class."""
    mass: float
    """Share of the corpus's weight in this class."""
    cost: float | None
    """Mean squared distance, by weight within the class; none if it has no weight."""
    mean_distance: float | None
    """r̄ of its corpus rows."""
    p95_distance: float | None
    """95 % of its corpus rows are at most this far."""


class Region(Frozen):
    """One group of corpus rows that the distilled rows cover worst."""

    share: float
    """Share of the corpus in this region."""
    distance: float
    """Mean distance of its rows to the nearest distilled row."""
    pool_distance: float
    """Mean distance to the nearest row of the whole pool: if nearly as large, the pool has no such
    rows; if far smaller, they were not chosen."""


class Knee(Frozen):
    """Where the budget curve bends."""

    k: int | None
    """Rows per class (in total, if global) beyond which the transport cost falls slowly; none where
    the curve has no bend. About coverage, not about accuracy."""
    depth: float | None
    """How far the cost lies below the chord there, against log k, as a share of its whole fall: 0
    is straight, near 1 a right angle."""
    sentence: str
    """The same in words."""


class RunFacts(Frozen):
    """How the rows were chosen."""

    selector: str
    """The selector that chose the rows."""
    scope: str
    """`class`: a row represents rows of its own class only; `global`: of any."""
    budget: str
    """The budget as given by the user."""
    seed: int
    """Seed of the choice."""
    tempering: float | None = None
    """Power the corpus weights were raised to: 1 leaves them, 0 makes them equal; none if not
    tempered."""


class DistillationReport(Frozen):
    """How well a few chosen rows represent a weighted corpus. Indicators, not guarantees."""

    run: RunFacts
    rows: int
    """Distilled rows."""
    pool_rows: int
    """Rows of the pool they were chosen from."""
    cost: float
    """Σ w min C of the distilled rows over every corpus row, within the scope."""
    transport: Comparison
    plan: PlanCost
    reweighting: Reweighting
    coverage: Coverage
    representation: Representation
    classes: dict[str, ClassDistilled]
    regions: dict[str, Region] = Field(default_factory=dict)
    """The regions of the corpus that are covered worst."""
    knee: Knee | None = None
    """None if there is no budget curve."""

    def summary(self) -> str:
        """The main figures in one line; those of the random choice are in brackets."""
        chosen, random = self.transport.distilled, self.transport.random
        share = self.representation.effective_share
        return (
            f"cost {chosen.cost:.3f} ({random.cost:.3f}), W₁ {chosen.w1:.3f} ({random.w1:.3f}), "
            f"mass spread over {share:.0%} of {self.rows} rows"
        )


def meanings() -> dict[str, str]:
    """One sentence on each figure, by its dotted name in the report; `*` is any class or region.

    >>> meanings()["classes.*.rows"]
    'Distilled rows of this class.'
    """
    # Parts that occur several times have a sentence each, too.
    parts: dict[str, type[BaseModel]] = {
        "": DistillationReport,
        "transport.": Comparison,
        "coverage.": Coverage,
    }
    described = {
        prefix + name: field.description
        for prefix, model in parts.items()
        for name, field in model.model_fields.items()
        if field.description
    }
    return described | dict(frozen.meanings(DistillationReport))
