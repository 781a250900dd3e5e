"""Measure how well distilled rows represent their corpus (METHOD §3, §5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from take.errors import InputError
from take.rows.arrays import Float32, Float64, Int64
from take.rows.blocks import ArrayBlocks
from take.rows.nearest import Nearest
from take.rows.random import rng
from take.rows.regions import far_regions, region_table
from take.selection.describe.distillation import Covered, Distillation, nearest_allowed
from take.selection.describe.distillation_report import (
    ClassDistilled,
    Comparison,
    Coverage,
    Covering,
    DistillationReport,
    PlanCost,
    Region,
    Representation,
    Reweighting,
    RunFacts,
    Side,
)
from take.selection.describe.lineage import Lineage
from take.transport.exact import (
    SAMPLE_ROWS,
    draw_by_weight,
    read_rows,
    reweighting_distance,
    wasserstein,
    wasserstein_within,
)
from take.transport.sinkhorn import EPSILON, entropic_plan, transport_cost

SPHERE_DIAMETER = 2.0
RANDOM_DRAWS = 3
FAR_SHARE = 0.01  # of the corpus: the rows that regions are made of
MOST_REGIONS = 5
REGION_EXAMPLES = 3


@dataclass(frozen=True)
class IndicatorOptions:
    """The sample of the corpus on which the costly indicators are measured."""

    sample_rows: int = SAMPLE_ROWS
    epsilon: float = EPSILON
    seed: int = 0


class _Sample(NamedTuple):
    """Corpus rows drawn by weight."""

    rows: Float32
    shares: Float64
    labels: Int64


class Regions(NamedTuple):
    """The regions in numbers and by example; the table holds texts and is not released."""

    report: dict[str, Region]
    table: pd.DataFrame


def random_choice(distillation: Distillation, seed: int) -> Int64:
    """Pool rows at random: as many as were chosen, of each class with the scope `class`.

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
    lineage: Lineage,
    covered: Covered,
    random: Covered,
    label_names: Sequence[str],
    run: RunFacts,
    options: IndicatorOptions | None = None,
) -> DistillationReport:
    """Every indicator; `covered` by the distilled rows, and by a `random` choice for comparison."""
    options = options or IndicatorOptions()
    _check(distillation, lineage, label_names, run)
    weights, cost = distillation.weights, covered.allowed.distance.astype(np.float64) ** 2
    sampled, shares = draw_by_weight(weights, options.sample_rows, options.seed)
    rows = read_rows(distillation.corpus, sampled)
    sample = _Sample(rows, shares, distillation.labels[sampled])
    return DistillationReport(
        run=run,
        rows=len(distillation.chosen),
        pool_rows=len(distillation.pool),
        cost=float(weights @ cost),
        transport=_comparison(distillation, sample, options.seed),
        plan=_plan_cost(distillation, sample, options.epsilon),
        reweighting=_reweighting(distillation, options),
        coverage=_coverage(distillation, covered, random),
        representation=_representation(distillation, lineage),
        classes={
            name: _class(distillation, covered.own_class, label)
            for label, name in enumerate(label_names)
        },
    )


def least_covered_regions(
    distillation: Distillation,
    nearest: Nearest,
    corpus_table: pd.DataFrame,
    distilled: pd.DataFrame,
    share: float = FAR_SHARE,
    most_regions: int = MOST_REGIONS,
    examples: int = REGION_EXAMPLES,
) -> Regions:
    """The rows farthest from a distilled row, in a few regions, worst first.

    `nearest` is the distilled row nearest to each corpus row, such as `Covered.allowed`. The
    distance to the whole pool is given next to it: it separates rows that were not chosen from rows
    that the pool does not contain.
    """
    everything = np.arange(len(distillation.labels))

    def features(rows: Int64) -> Float32:
        return read_rows(distillation.corpus, rows)

    found = far_regions(nearest.distance, everything, features, share, most_regions, seed=0)
    report = {}
    far = np.sort(np.concatenate([region.rows for region in found]))
    pool = nearest_allowed(
        ArrayBlocks(features(far)),
        distillation.labels[far],
        distillation.pool,
        distillation.pool_labels,
        distillation.scope,
    ).allowed.distance
    for number, region in enumerate(found, start=1):
        pool_distance = float(pool[np.searchsorted(far, region.rows)].mean())
        report[str(number)] = Region(
            share=region.share, distance=region.distance, pool_distance=pool_distance
        )
    figures = [region.model_dump() for region in report.values()]
    table = region_table(found, figures, corpus_table, distilled, nearest, examples)
    return Regions(report, table)


def effective_rows(masses: Float64) -> float:
    """(Σ m)² / Σ m²: the number of equal masses that would be as uneven.

    >>> effective_rows(np.array([0.5, 0.5, 0.0]))
    2.0
    """
    squares = float(masses @ masses)
    return float(masses.sum()) ** 2 / squares if squares > 0 else 0.0


def _comparison(distillation: Distillation, sample: _Sample, seed: int) -> Comparison:
    def side(chosen: Int64) -> Side:
        targets, target_labels = distillation.pool[chosen], distillation.pool_labels[chosen]
        found = nearest_allowed(
            ArrayBlocks(sample.rows), sample.labels, targets, target_labels, distillation.scope
        )
        equal = np.full(len(targets), 1 / len(targets))
        return Side(
            cost=float(sample.shares @ found.allowed.distance.astype(np.float64) ** 2),
            w1=wasserstein(sample.rows, sample.shares, targets, equal),
            w1_within=wasserstein_within(*sample, targets, equal, target_labels),
            w1_floor=float(sample.shares @ found.any_class.distance.astype(np.float64)),
        )

    pool, distilled = side(np.arange(len(distillation.pool))), side(distillation.chosen)
    draws = [side(random_choice(distillation, seed + draw)) for draw in range(RANDOM_DRAWS)]
    random = Side.mean(draws)
    way = random.cost - pool.cost
    return Comparison(
        pool=pool,
        random=random,
        distilled=distilled,
        reached=(random.cost - distilled.cost) / way if way > 1e-9 else None,
        sampled_rows=len(sample.rows),
        corpus_rows=len(distillation.labels),
        random_draws=RANDOM_DRAWS,
    )


def _plan_cost(distillation: Distillation, sample: _Sample, epsilon: float) -> PlanCost:
    # On the sample: with large budgets the kernel of a whole corpus does not fit the memory.
    rows, targets = ArrayBlocks(sample.rows), distillation.targets
    plan = entropic_plan(rows, sample.shares, targets, epsilon=epsilon)
    return PlanCost(
        cost=transport_cost(rows, sample.shares, targets, plan),
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


def _coverage(distillation: Distillation, covered: Covered, random: Covered) -> Coverage:
    weights, own = distillation.weights, covered.own_class
    has = own.row >= 0
    return Coverage(
        any_class=_covering(covered.any_class.distance, weights),
        own_class=_covering(own.distance[has], weights[has]) if has.any() else None,
        random=_covering(random.allowed.distance, weights),
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


def _representation(distillation: Distillation, lineage: Lineage) -> Representation:
    effective = effective_rows(lineage.assigned)
    return Representation(
        effective_rows=effective,
        effective_share=effective / len(lineage.assigned),
        largest_mass=float(lineage.assigned.max()),
        idle_rows=int((lineage.rows == 0).sum()),
        stray_rows=len(lineage.strays),
        stray_mass=float(distillation.weights[lineage.strays].sum()),
    )


def _class(distillation: Distillation, own: Nearest, label: int) -> ClassDistilled:
    members = np.flatnonzero(distillation.labels == label)
    weights = distillation.weights[members]
    mass, distances = float(weights.sum()), own.distance[members].astype(np.float64)
    covered = len(members) > 0 and bool(np.isfinite(distances).all())
    return ClassDistilled(
        rows=int((distillation.target_labels == label).sum()),
        corpus_rows=len(members),
        mass=mass,
        cost=float(weights @ distances**2) / mass if covered and mass > 0 else None,
        mean_distance=float(distances.mean()) if covered else None,
        p95_distance=float(np.quantile(distances, 0.95)) if covered else None,
    )


def _check(
    distillation: Distillation, lineage: Lineage, label_names: Sequence[str], run: RunFacts
) -> None:
    largest = int(max(distillation.labels.max(), distillation.pool_labels.max()))
    if largest >= len(label_names) or len(set(label_names)) < len(label_names):
        raise InputError(
            f"{len(set(label_names))} different names for labels up to {largest}",
            where="label_names",
            allowed="one name for every label, each once",
            remedy="give the corpus's class names by id",
        )
    if len(lineage.assigned) != len(distillation.chosen) or run.scope != distillation.scope:
        raise InputError(
            f"the lineage has {len(lineage.assigned)} rows and the scope is {run.scope!r}",
            where="distillation report",
            allowed=f"{len(distillation.chosen)} rows and {distillation.scope!r}, as distilled",
            remedy="trace this distillation",
        )
