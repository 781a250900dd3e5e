"""Errors and intervals of scores over training sets and evaluation rows: a two-way bootstrap.

A score is an average over two samples: the training sets i = 1 … a that were made, and the rows
r = 1 … n that they were evaluated on. Other sets or other rows would give another score. The
difference of two methods A and B, evaluated on the same rows, is

    d(w, v) = Σ_i w_i (A_i(v) − B_i(v)),        d̄ = d(1/a …, 1 …),

where A_i(v) is the metric of A's set i with row r counted v_r times, averaged over the trainings on
that set. Both samples are drawn again with replacement:

    sets:  (a−1) w ~ Multinomial(a−1; 1/a …)    V_sets = var d(w, 1 …) = s²(d_i) / a
    rows:        v ~ Multinomial(n; 1/n …)      V_rows = var d(1/a …, v)

Drawing a−1 of a sets makes V_sets unbiased (Rao & Wu 1988); a of a would make it too small by a
fifth at five sets. It is known in closed form. V_rows is taken from replicates, because macro F1 is
not an average over rows. What varies by set and row together is in both, so that V_sets + V_rows is
never too small on average (drawing both at once counts it three times: Owen 2007). The interval is
that of `take.evaluation.statistics.judged`, V_sets with a−1 degrees of freedom. Of 1,000 simulated
comparisons each, with 2, 3 and 5 sets and 300 rows, 94 to 98 % of the 95 % intervals cover where
sets, rows or both vary, and 99.5 % where most variation is of set and row together
(`tests/evaluation/test_bootstrap.py`).

Sets that were selected from the same pool of generated rows share its variation. Where a method has
sets of several pools, V_sets is taken from `take.evaluation.statistics.parts_of_sets`, and V_pools
is added. In 1,000 simulated comparisons of 2 pools with 3 sets each, 98 % of the intervals cover
where pools vary as sets do, and 83 % would if pools were ignored.

Set seeds that both methods have are drawn jointly. A method that makes one set, whatever the seed,
adds V_rows alone, and V of its trainings if the learner draws.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from take.evaluation.cells import Metric
from take.evaluation.statistics import Difference, Part, judged, parts_of_sets
from take.rows.arrays import Float32, Float64, Int64
from take.rows.random import rng

REPLICATES = 2000  # the error of a standard error is 1.6 % of it
Counts = Float32 | Float64
Pools = tuple[object, ...] | None
_SEED = 0  # the same rows are drawn for every method
_BLOCK = 20_000_000  # multiplicities of rows in memory at once
_AT_ONCE = 48  # classes × predictions


@dataclass(frozen=True, eq=False)
class Sample:
    """The scores of a method's training sets, and what they are on resampled evaluation rows."""

    scores: Float64  # (a,)
    seeds: tuple[int, ...] | None
    """(a,) of the sets; None if they are not told apart by seeds, such as trainings on one set."""
    resampled: Float64 | None = None
    """(replicates, a); None where variation is not known: no predictions, or one of many sets."""
    n_rows: int = 0
    pools: Pools = None
    """(a,) the pool that each set was selected from; None, also of one set: it is its own unit."""

    @property
    def mean(self) -> float:
        """Over sets."""
        return float(self.scores.mean())

    @property
    def by_sets(self) -> list[Part]:
        """V_sets, and V_pools of several pools; 0 for a method and learner that draw nothing."""
        return parts_of_sets(self.scores, self.pools)

    @property
    def variance_by_sets(self) -> float:
        """V_sets + V_pools."""
        return sum(part.variance for part in self.by_sets)

    @property
    def means(self) -> Float64 | None:
        """(replicates,) over sets."""
        return None if self.resampled is None else np.mean(self.resampled, axis=1)

    @property
    def standard_error(self) -> float | None:
        """√(V_sets + V_pools + V_rows)."""
        if self.means is None:
            return None
        rows = rows_part(self.means, self.n_rows)
        return float(np.sqrt(self.variance_by_sets + rows.variance))

    def at(self, seeds: Sequence[int]) -> Sample:
        """The sets with these seeds; a single one of several does not show how sets vary."""
        places = [place for place, seed in enumerate(self.seeds or ()) if seed in seeds]
        resampled = None
        if self.resampled is not None and len(places) > 1:
            resampled = self.resampled[:, places]
        pools = None if self.pools is None else tuple(self.pools[place] for place in places)
        return Sample(self.scores[places], tuple(seeds), resampled, self.n_rows, pools)


def rows_part(replicates: Float64, n_rows: int) -> Part:
    """V_rows of anything that was computed on each resample of the rows."""
    return Part(float(replicates.var(ddof=1)), max(1, n_rows - 1))


def compare(ours: Sample, theirs: Sample) -> Difference | None:
    """The difference of the means over the sets that both have, with its interval.

    None if both have set seeds, but none in common. Three sets of each, evaluated on 200 rows:

    >>> truth = np.arange(200) % 2
    >>> def sample(wrong):
    ...     predicted = [np.where(np.arange(200) % 20 < wrong + i, 1 - truth, truth)
    ...         for i in range(3)]
    ...     found = [one["accuracy"] for one in resampled_scores(truth, predicted, ["accuracy"])]
    ...     return Sample(np.array([one[0] for one in found]), (0, 1, 2),
    ...         np.stack([one[1:] for one in found], axis=1), n_rows=200)
    >>> found = compare(sample(1), sample(5))
    >>> round(found.mean, 3), [round(end, 2) for end in found.interval], found.pairs
    (0.2, [0.15, 0.25], 3)
    """
    if ours.seeds is None or theirs.seeds is None:
        # Sets that have nothing to do with each other vary separately; rows are still the same.
        mine, other = ours, theirs
        sets, pairs = [*mine.by_sets, *other.by_sets], max(len(mine.scores), len(other.scores))
    else:
        common = sorted(set(ours.seeds) & set(theirs.seeds))
        if not common:
            return None
        mine, other, pairs = ours.at(common), theirs.at(common), len(common)
        sets = parts_of_sets(mine.scores - other.scores, _common_pools(mine.pools, other.pools))
    mean = mine.mean - other.mean
    if mine.means is None or other.means is None:
        return Difference(mean, pairs=pairs)
    rows = rows_part(mine.means - other.means, min(mine.n_rows, other.n_rows))
    return judged(mean, [*sets, rows], pairs)


def _common_pools(ours: Pools, theirs: Pools) -> Pools:
    """Of paired sets: the pools of the method that has some, or of both."""
    if ours is None or theirs is None:
        return theirs if ours is None else ours
    return tuple(zip(ours, theirs, strict=True))


def averaged(samples: Sequence[Sample]) -> Sample | None:
    """The mean over learners, set by set: learners that share a set do not count as more sets.

    None without samples, or if they have no set seeds in common.
    """
    seeds = [set(sample.seeds) for sample in samples if sample.seeds is not None]
    if not samples or len(seeds) < len(samples):
        return None
    common = sorted(set.intersection(*seeds))
    if not common:
        return None
    chosen = [sample.at(common) for sample in samples]
    parts = [sample.resampled for sample in chosen if sample.resampled is not None]
    return Sample(
        np.mean([sample.scores for sample in chosen], axis=0),
        tuple(common),
        np.mean(parts, axis=0) if len(parts) == len(chosen) else None,
        min(sample.n_rows for sample in chosen),
        chosen[0].pools,
    )


def resampled_scores(
    labels: Int64, predictions: Sequence[Int64], metrics: Sequence[Metric]
) -> Iterator[Mapping[Metric, Float64]]:
    """Of each prediction, by metric: the score on the rows, and on each resample of them.

    What a metric needs are sums of multiplicities: over the rows that have a class, those that were
    predicted to have it, and those that are right. As matrices: C v, with indicators C of a class
    (classes × rows).

    >>> truth, predicted = np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1])
    >>> (found,) = resampled_scores(truth, [predicted], ["accuracy", "macro_f1"])
    >>> found["accuracy"].shape, float(found["accuracy"][0]), round(float(found["macro_f1"][0]), 4)
    ((2001,), 0.75, 0.7333)
    """
    n_classes = 1 + max(int(one.max()) for one in (labels, *predictions))
    of_class = _indicators(labels, n_classes)
    found: list[dict[Metric, list[Float64]]] = [{m: [] for m in metrics} for _ in predictions]
    # Several at a time: thin matrices are multiplied at a tenth of the speed.
    at_once = max(1, _AT_ONCE // n_classes)
    for multiplicities in _multiplicities(len(labels)):
        actual = of_class @ multiplicities
        for start in range(0, len(predictions), at_once):
            some = slice(start, start + at_once)
            claimed = np.stack([_indicators(one, n_classes) for one in predictions[some]])
            # Counts are exact: float32 has every whole number up to 16 million.
            both = np.stack([claimed, claimed * of_class]).reshape(-1, len(labels))
            positive, hits = (both @ multiplicities).reshape(2, len(claimed), n_classes, -1)
            for scores, own, right in zip(found[some], positive, hits, strict=True):
                for metric, parts in scores.items():
                    parts.append(_score(metric, right, actual, own))
    for scores in found:
        yield {metric: np.concatenate(parts) for metric, parts in scores.items()}


def _score(metric: Metric, hits: Counts, actual: Counts, positive: Counts) -> Float64:
    """(replicates,) of counts (classes, replicates); as `take.evaluation.sealed_split.scores`."""
    accuracy: Float64 = hits.sum(axis=0, dtype=np.float64) / actual.sum(axis=0, dtype=np.float64)
    if metric == "accuracy":
        return accuracy
    total = actual.astype(np.float64) + positive
    f1 = 2 * hits / np.maximum(total, 1)
    if metric == "accuracy_f1":
        both: Float64 = (accuracy + f1[1]) / 2
        return both
    # Over the classes that occur or are predicted.
    macro: Float64 = f1.sum(axis=0) / (total > 0).sum(axis=0)
    return macro


def _indicators(classes: Int64, n_classes: int) -> Float32:
    """(classes, rows): 1 where the row has the class, 0 elsewhere."""
    found: Float32 = (np.arange(n_classes)[:, None] == classes).astype(np.float32)
    return found


def _multiplicities(n: int) -> Iterator[Float32]:
    """(n, replicates) how often each row is drawn, in blocks; first, each once."""
    random, left = rng(_SEED, "bootstrap of evaluation rows", n), REPLICATES
    yield np.ones((n, 1), dtype=np.float32)
    while left:
        count = min(left, max(1, _BLOCK // n))
        block = [np.bincount(random.integers(0, n, n), minlength=n) for _ in range(count)]
        yield np.ascontiguousarray(np.stack(block, axis=1), dtype=np.float32)
        left -= count
