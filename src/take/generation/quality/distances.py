"""Distances between pool and corpus: coverage, and closeness to the training rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from take.generation.quality.evidence import Matched, PoolEvidence, QualitySettings
from take.generation.quality.report import ClosestRecord, Cover, Coverage, Region, Spread
from take.rows.arrays import Bools, Float32, Int64
from take.rows.nearest import Nearest, NearestByClass, nearest, nearest_by_class
from take.rows.regions import far_regions, region_table

_FEWEST_UNSEEN_ROWS = 100
_WORST_SHARE = 0.05  # of the corpus rows
_ROWS_PER_REGION = 3
# Corpus rows that `equivalent_rows` is measured on; 2,000 × 5,000 products are 40 MB.
_PROBE_ROWS = 2000


class Covered(NamedTuple):
    """How far each corpus row is from the pool and from equally many real rows."""

    pool: NearestByClass
    """From the whole pool."""
    compared: NearestByClass
    """From as many generated rows as there are real ones."""
    real: NearestByClass
    outside: Bools
    """The corpus rows that are not among the real rows: those that are measured."""


class Regions(NamedTuple):
    """The worst covered regions, in numbers and by example."""

    report: dict[str, Region]
    table: pd.DataFrame


def closest_record(
    evidence: PoolEvidence, matched: Matched, settings: QualitySettings
) -> ClosestRecord | None:
    """Distances of generated rows and of real rows to the closest training row.

    A model that copies its training rows generates rows closer to them than real rows are to each
    other. Real rows that were trained on are compared with all training rows but themselves.
    """
    seen_rows = np.flatnonzero(evidence.seen)
    if len(seen_rows) < 2:
        return None
    position = np.full(len(evidence.seen), -1, dtype=np.int64)
    position[seen_rows] = np.arange(len(seen_rows))
    n_pool = len(evidence.pool)
    queries = np.concatenate([evidence.pool_features, evidence.corpus_features(matched.real)])
    itself = np.concatenate([np.full(n_pool, -1, dtype=np.int64), position[matched.real]])
    references = evidence.corpus_rows(seen_rows)
    distance = nearest(queries, references, settings.block_rows, itself).distance
    pool, real = distance[:n_pool], distance[n_pool:]
    p1, p5 = np.quantile(real, [0.01, 0.05])
    return ClosestRecord(
        pool=Spread.of(pool),
        real=Spread.of(real),
        unseen_share=float(1 - evidence.seen[matched.real].mean()),
        below_real_p1=float((pool < p1).mean()),
        below_real_p5=float((pool < p5).mean()),
    )


def covered(evidence: PoolEvidence, matched: Matched, settings: QualitySettings) -> Covered:
    """The distances of coverage; each is one pass over the corpus."""

    def distances(references: Float32, labels: Int64) -> NearestByClass:
        return nearest_by_class(
            evidence.embeddings, evidence.corpus_labels, references, labels, settings.block_rows
        )

    pool = distances(evidence.pool_features, evidence.pool_labels)
    compared = pool
    if len(matched) < len(evidence.pool):
        part = matched.pool
        compared = distances(evidence.pool_features[part], evidence.pool_labels[part])
    real = distances(evidence.corpus_features(matched.real), evidence.corpus_labels[matched.real])
    outside = np.ones(len(evidence.corpus), dtype=np.bool_)
    outside[matched.real] = False
    return Covered(pool, compared, real, outside)


def coverage(
    evidence: PoolEvidence, matched: Matched, found: Covered, rng: np.random.Generator
) -> Coverage:
    """r̄ = 1/N Σ_n min_c ‖φ(z_n) − φ(z̃_c)‖ (Assumption 1 of the paper), for pool and real rows."""
    unseen = found.outside & ~evidence.seen
    enough = int(unseen.sum()) >= _FEWEST_UNSEEN_ROWS
    probes = rng.permutation(np.flatnonzero(unseen if enough else found.outside))[:_PROBE_ROWS]
    compared, real = found.compared, found.real

    def cover(pool: Nearest, compared: Nearest, real: Nearest) -> Cover:
        pairs = (compared.distance[found.outside], real.distance[found.outside])
        return Cover(
            pool=_spread(pool.distance),
            compared=_spread(pairs[0]),
            real=_spread(pairs[1]),
            ratio=mean_ratio(*pairs)[2],
            unseen_ratio=mean_ratio(compared.distance[unseen], real.distance[unseen])[2]
            if enough
            else None,
        )

    return Coverage(
        any_class=cover(found.pool.any_class, compared.any_class, real.any_class),
        own_class=cover(found.pool.own_class, compared.own_class, real.own_class),
        equivalent_rows=equivalent_rows(
            float(compared.any_class.distance[probes].mean()),
            evidence.corpus_features(probes),
            evidence.corpus_features(matched.real),
        ),
        uncovered_share=float(np.isinf(found.pool.own_class.distance).mean()),
    )


def equivalent_rows(mean_distance: float, queries: Float32, references: Float32) -> float:
    """How many of the references, in the order given, cover the queries with this mean distance.

    r̄(m), the mean distance of the queries to the closest of the first m references, falls with m.
    It is taken at m = 1, 2, 4, … M and interpolated on log m; the answer lies between 1 and M.

    In hundreds of dimensions r̄(m) falls so slowly that 20 rows can come within 12 % of 1,500: the
    number of rows distinguishes two pools where the ratio of r̄ hardly does.

    >>> points = np.eye(4, dtype=np.float32)
    >>> round(equivalent_rows(2**0.5 / 2, points, points), 6)  # two of four are at distance 0
    2.0
    """
    products = queries @ references.T
    sizes = np.unique([*(2 ** np.arange(int(np.log2(len(references))) + 1)), len(references)])
    means = []
    closest = np.full(len(queries), -np.inf, dtype=np.float32)
    for start, stop in zip([0, *sizes[:-1]], sizes, strict=True):
        closest = np.maximum(closest, products[:, start:stop].max(axis=1))
        means.append(float(np.sqrt(np.maximum(0, 2 - 2 * closest)).mean()))
    return float(np.exp(np.interp(mean_distance, means[::-1], np.log(sizes)[::-1])))


def mean_ratio(first: Float32, second: Float32) -> tuple[float | None, float | None, float | None]:
    """Means of two sets of distances and their ratio; None for what is undefined.

    >>> mean_ratio(np.array([3.0], dtype=np.float32), np.array([2.0], dtype=np.float32))
    (3.0, 2.0, 1.5)
    """
    means = [
        float(np.mean(values, dtype=np.float64)) if len(values) else None
        for values in (first[np.isfinite(first)], second[np.isfinite(second)])
    ]
    ratio = means[0] / means[1] if means[0] is not None and means[1] else None
    return means[0], means[1], ratio


def worst_regions(evidence: PoolEvidence, found: Covered, settings: QualitySettings) -> Regions:
    """The corpus rows covered worst, in a few regions by k-means on φ, worst region first."""
    closest, real = found.pool.any_class, found.real.any_class.distance
    regions = far_regions(
        closest.distance,
        np.flatnonzero(found.outside),
        evidence.corpus_features,
        _WORST_SHARE,
        settings.worst_regions,
        settings.seed,
    )
    report = {
        str(number): Region(
            share=region.share,
            distance=region.distance,
            real_distance=float(real[region.rows].mean()),
        )
        for number, region in enumerate(regions, start=1)
    }
    figures = [region.model_dump() for region in report.values()]
    corpus, pool, examples = evidence.corpus, evidence.pool, _ROWS_PER_REGION
    return Regions(report, region_table(regions, figures, corpus, pool, closest, examples))


def _spread(distances: Float32) -> Spread:
    return Spread.of(distances[np.isfinite(distances)])
