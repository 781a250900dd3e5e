"""Predictions of simulated learners: how right they are varies by training set, by row and both."""

from __future__ import annotations

import numpy as np

from take.evaluation.bootstrap import Sample, resampled_scores
from take.evaluation.cells import Metric
from take.rows.arrays import Int64


def sample_of(
    labels: Int64,
    predictions: list[Int64],
    metric: Metric = "accuracy",
    seeds: bool = True,
    pools: tuple[int, ...] | None = None,
) -> Sample:
    """A sample with one training on each set."""
    found = [one[metric] for one in resampled_scores(labels, predictions, [metric])]
    return Sample(
        np.array([one[0] for one in found]),
        tuple(range(len(found))) if seeds else None,
        np.stack([one[1:] for one in found], axis=1),
        len(labels),
        pools,
    )


def two_equal_methods(
    random: np.random.Generator,
    sets: tuple[int, int],
    n_rows: int,
    by_set: float,
    by_row: float,
    by_both: float,
    metric: Metric = "accuracy",
) -> tuple[Sample, Sample]:
    """Deviations of the latent score: of a set, of a row with one method, of a row with one set.

    Rows are also difficult for both methods alike. The true difference of the methods is 0.
    """
    labels = (random.random(n_rows) < 0.4).astype(np.int64)
    difficulty = random.normal(0, 1, n_rows)
    found = []
    for n_sets in sets:
        latent = 0.8 + difficulty + random.normal(0, by_row, n_rows)
        latent = latent + random.normal(0, by_set, (n_sets, 1))
        latent = latent + random.normal(0, by_both, (n_sets, n_rows))
        predictions = [np.where(one > 0, labels, 1 - labels) for one in latent]
        found.append(sample_of(labels, predictions, metric, seeds=sets[0] == sets[1]))
    return found[0], found[1]


def two_equal_methods_of_pools(
    random: np.random.Generator, pools: tuple[int, ...], by_pool: float, by_set: float
) -> tuple[Sample, Sample]:
    """The pool of each set, and deviations of the latent score. Of 300 rows, as above.

    Both methods have the same pools, to which they react differently. The true difference is 0.
    """
    labels = (random.random(300) < 0.4).astype(np.int64)
    difficulty = random.normal(0, 1, 300)
    found = []
    for _ in range(2):
        latent = 0.8 + difficulty + random.normal(0, by_pool, max(pools) + 1)[list(pools), None]
        latent = latent + random.normal(0, by_set, (len(pools), 1))
        predictions = [np.where(one > 0, labels, 1 - labels) for one in latent]
        found.append(sample_of(labels, predictions, pools=pools))
    return found[0], found[1]
