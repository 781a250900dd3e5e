"""Measure distilled rows against the corpus they stand for (METHOD §3, §5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from take.errors import InputError
from take.rows.arrays import Float32, Float64, Int64
from take.rows.blocks import ArrayBlocks
from take.rows.nearest import Nearest
from take.rows.random import rng
from take.selection.describe.lineage import Distillation, Traced
from take.selection.describe.regions import Covered, cover, nearest_allowed
from take.selection.describe.report import (
    ClassDistilled,
    Comparison,
    Coverage,
    Covering,
    DistillationReport,
    Knee,
    PlanCost,
    Region,
    Representation,
    Reweighting,
    RunFacts,
    Side,
)
from take.transport.exact import (
    SAMPLE_ROWS,
    draw_by_weight,
    read_rows,
    reweighting_distance,
    wasserstein,
)
from take.transport.sinkhorn import EPSILON, entropic_plan, transport_cost

SPHERE_DIAMETER = 2.0
RANDOM_DRAWS = 3


@dataclass(frozen=True)
class IndicatorOptions:
    """How much of the corpus the costly indicators are measured on."""

    sample_rows: int = SAMPLE_ROWS
    epsilon: float = EPSILON
    seed: int = 0


@dataclass(frozen=True)
class Findings:
    """What was found elsewhere and belongs into the report."""

    regions: Mapping[str, Region] | None = None
    knee: Knee | None = None


class Measured(NamedTuple):
    """The report, and for its picture the distances to one random choice of the same size."""

    report: DistillationReport
    random: Covered


def random_choice(distillation: Distillation, seed: int) -> Int64:
    """Pool rows at random: as many as were chosen, of each class under the scope `class`.

    >>> rows, labels = np.eye(4, dtype=np.float32), np.array([0, 0, 1, 1])
    >>> corpus, weights = ArrayBlocks(rows), np.full(4, 0.25)
    >>> made = Distillation(corpus, weights, labels, rows, labels, np.array([0, 2, 3]))
    >>> labels[random_choice(made, seed=1)].tolist()
    [0, 1, 1]
    """
    random = rng(seed, "random comparison sets")
    if distillation.scope == "global":
        return random.permutation(len(distillation.pool))[: len(distillation.chosen)]
    drawn = []
    labels, counts = np.unique(distillation.target_labels, return_counts=True)
    for label, count in zip(labels, counts, strict=True):
        drawn.append(random.permutation(np.flatnonzero(distillation.pool_labels == label))[:count])
    return np.concatenate(drawn)


def measure(
    distillation: Distillation,
    traced: Traced,
    covered: Covered,
    label_names: Sequence[str],
    run: RunFacts,
    findings: Findings | None = None,
    options: IndicatorOptions | None = None,
) -> Measured:
    """Every indicator of `DistillationReport`, with a random choice as the yardstick.

    `covered` is what `take.selection.describe.regions.cover` finds for this distillation.
    """
    options, findings = options or IndicatorOptions(), findings or Findings()
    _check(distillation, traced, label_names, run)
    chance = cover(distillation, random_choice(distillation, options.seed))
    weights, cost = distillation.weights, covered.allowed.distance.astype(np.float64) ** 2
    report = DistillationReport(
        run=run,
        rows=len(distillation.chosen),
        pool_rows=len(distillation.pool),
        cost=float(weights @ cost),
        transport=_comparison(distillation, options),
        plan=_plan_cost(distillation, options),
        reweighting=_reweighting(distillation, options),
        coverage=_coverage(distillation, covered, chance),
        representation=_representation(distillation, traced),
        classes={
            name: _class(distillation, covered.own_class, label)
            for label, name in enumerate(label_names)
        },
        regions=dict(findings.regions or {}),
        knee=findings.knee,
    )
    return Measured(report, chance)


def effective_rows(masses: Float64) -> float:
    """(Σ m)² / Σ m²: how many equal masses would be as uneven.

    >>> effective_rows(np.array([0.5, 0.5, 0.0]))
    2.0
    """
    squares = float(masses @ masses)
    return float(masses.sum()) ** 2 / squares if squares > 0 else 0.0


def _comparison(distillation: Distillation, options: IndicatorOptions) -> Comparison:
    sampled, shares = draw_by_weight(distillation.weights, options.sample_rows, options.seed)
    rows, labels = read_rows(distillation.corpus, sampled), distillation.labels[sampled]

    def side(chosen: Int64) -> Side:
        targets, target_labels = distillation.pool[chosen], distillation.pool_labels[chosen]
        found = nearest_allowed(
            ArrayBlocks(rows), labels, targets, target_labels, distillation.scope
        )
        equal = np.full(len(targets), 1 / len(targets))
        return Side(
            cost=float(shares @ found.allowed.distance.astype(np.float64) ** 2),
            w1=wasserstein(rows, shares, targets, equal),
            w1_floor=float(shares @ found.any_class.distance.astype(np.float64)),
        )

    pool, distilled = side(np.arange(len(distillation.pool))), side(distillation.chosen)
    seeds = range(options.seed, options.seed + RANDOM_DRAWS)
    draws = [side(random_choice(distillation, seed)) for seed in seeds]
    chance = Side(
        cost=float(np.mean([draw.cost for draw in draws])),
        w1=float(np.mean([draw.w1 for draw in draws])),
        w1_floor=float(np.mean([draw.w1_floor for draw in draws])),
    )
    way = chance.cost - pool.cost
    return Comparison(
        pool=pool,
        random=chance,
        distilled=distilled,
        reached=(chance.cost - distilled.cost) / way if way > 1e-9 else None,
        sampled_rows=len(sampled),
        corpus_rows=len(distillation.labels),
        random_draws=RANDOM_DRAWS,
    )


def _plan_cost(distillation: Distillation, options: IndicatorOptions) -> PlanCost:
    # On the same sample: with large budgets the kernel of a whole corpus is beyond memory.
    sampled, shares = draw_by_weight(distillation.weights, options.sample_rows, options.seed)
    rows = ArrayBlocks(read_rows(distillation.corpus, sampled))
    plan = entropic_plan(rows, shares, distillation.targets, epsilon=options.epsilon)
    return PlanCost(
        cost=transport_cost(rows, shares, distillation.targets, plan),
        marginal_error=plan.marginal_error,
        epsilon=plan.epsilon,
        iterations=plan.iterations,
    )


def _reweighting(distillation: Distillation, options: IndicatorOptions) -> Reweighting:
    weights = distillation.weights
    exact = reweighting_distance(
        distillation.corpus, weights, rows=options.sample_rows, seed=options.seed
    )
    variation = float(np.abs(weights - 1 / len(weights)).sum() / 2)
    return Reweighting(
        w1=exact.value,
        bound=SPHERE_DIAMETER * variation,
        total_variation=variation,
        sampled_rows=exact.sampled_rows,
    )


def _coverage(distillation: Distillation, covered: Covered, chance: Covered) -> Coverage:
    weights, own = distillation.weights, covered.own_class
    has = own.row >= 0
    return Coverage(
        any_class=_covering(covered.any_class.distance, weights),
        own_class=_covering(own.distance[has], weights[has]) if has.any() else None,
        random=_covering(chance.allowed.distance, weights),
        uncovered_rows=int((~has).sum()),
    )


def _covering(distances: Float32, weights: Float64) -> Covering:
    exact, mass = distances.astype(np.float64), float(weights.sum())
    p95, p99 = np.quantile(exact, [0.95, 0.99])
    mean = float(exact.mean())
    return Covering(
        mean=mean,
        weighted_mean=float(weights @ exact) / mass if mass > 0 else mean,
        p95=float(p95),
        p99=float(p99),
        largest=float(exact.max()),
    )


def _representation(distillation: Distillation, traced: Traced) -> Representation:
    effective = effective_rows(traced.assigned)
    return Representation(
        effective_rows=effective,
        effective_share=effective / len(traced.assigned),
        largest_mass=float(traced.assigned.max()),
        idle_rows=int((traced.rows == 0).sum()),
        stray_rows=len(traced.strays),
        stray_mass=float(distillation.weights[traced.strays].sum()),
    )


def _class(distillation: Distillation, own: Nearest, label: int) -> ClassDistilled:
    members = np.flatnonzero(distillation.labels == label)
    weights = distillation.weights[members]
    mass, distances = float(weights.sum()), own.distance[members].astype(np.float64)
    served = len(members) > 0 and bool(np.isfinite(distances).all())
    return ClassDistilled(
        rows=int((distillation.target_labels == label).sum()),
        corpus_rows=len(members),
        mass=mass,
        cost=float(weights @ distances**2) / mass if served and mass > 0 else None,
        mean_distance=float(distances.mean()) if served else None,
        p95_distance=float(np.quantile(distances, 0.95)) if served else None,
    )


def _check(
    distillation: Distillation, traced: Traced, label_names: Sequence[str], run: RunFacts
) -> None:
    largest = int(max(distillation.labels.max(), distillation.pool_labels.max()))
    if largest >= len(label_names) or len(set(label_names)) < len(label_names):
        raise InputError(
            f"{len(set(label_names))} different names for labels up to {largest}",
            where="label_names",
            allowed="one name for every label, each once",
            remedy="give the corpus's class names by id",
        )
    if len(traced.assigned) != len(distillation.chosen) or run.scope != distillation.scope:
        raise InputError(
            f"the trace has {len(traced.assigned)} rows and the scope is {run.scope!r}",
            where="distillation report",
            allowed=f"{len(distillation.chosen)} rows and {distillation.scope!r}, as distilled",
            remedy="trace this very distillation",
        )
