"""The candidates nearest to the centres of the weighted corpus."""

from __future__ import annotations

import numpy as np

from take.rows.arrays import Float32, Float64
from take.rows.blocks import RowBlocks, block_bounds
from take.selection.problem import ClassProblem, Selected
from take.selection.settings import SelectionSettings
from take.transport.costs import squared_distances
from take.transport.exact import draw_by_weight, read_rows

SEEDING_ROWS = 8192
STOP_AT = 1e-4  # relative fall of the inertia in an iteration


def kmeans(problem: ClassProblem, settings: SelectionSettings, seed: int) -> Selected:
    """K centres by weighted k-means, then a distinct candidate for each, at the least total cost.

    Where the nearest candidates of all centres differ, these are they. Heaviest centre first.
    """
    from scipy.optimize import linear_sum_assignment

    centres, mass, inertia = weighted_centres(
        problem.corpus,
        problem.weights,
        problem.budget,
        settings.kmeans_iterations,
        seed,
        settings.block_rows,
    )
    _, chosen = linear_sum_assignment(squared_distances(centres, problem.pool))
    rows = chosen[np.argsort(-mass, kind="stable")].astype(np.int64)
    return Selected(rows, {"inertia": inertia})


def weighted_centres(
    corpus: RowBlocks, weights: Float64, count: int, iterations: int, seed: int, block_rows: int
) -> tuple[Float32, Float64, float]:
    """Lloyd's iteration by blocks: centres, the weight of each, and Σ_n w_n min_c ‖x_n − m_c‖².

    Seeded by k-means++ on rows drawn by weight. A centre that loses all its rows stays where it is.
    """
    centres = _seeded(corpus, weights, count, seed)
    previous, inertia, mass = np.inf, np.inf, np.zeros(count)
    for _ in range(iterations):
        sums, mass, inertia = np.zeros(centres.shape), np.zeros(count), 0.0
        for start, stop in block_bounds(corpus.shape[0], block_rows):
            rows, w = corpus.read(start, stop), weights[start:stop]
            costs = squared_distances(rows, centres)
            nearest = costs.argmin(axis=1)
            inertia += float(w @ costs[np.arange(len(rows)), nearest])
            member = np.zeros((len(rows), count), dtype=np.float32)
            member[np.arange(len(rows)), nearest] = w
            sums += member.T @ rows
            mass += np.bincount(nearest, weights=w, minlength=count)
        held = mass > 0
        centres = centres.copy()
        centres[held] = (sums[held] / mass[held, None]).astype(np.float32)
        if previous - inertia <= STOP_AT * inertia:
            break
        previous = inertia
    return centres, mass, inertia


def _seeded(corpus: RowBlocks, weights: Float64, count: int, seed: int) -> Float32:
    from sklearn.cluster import kmeans_plusplus

    chosen, sample_weights = draw_by_weight(weights, max(SEEDING_ROWS, 4 * count), seed)
    sample = read_rows(corpus, chosen)
    if len(sample) <= count:  # fewer rows than centres: some centres coincide
        return np.resize(sample, (count, sample.shape[1]))
    centres, _ = kmeans_plusplus(sample, count, sample_weight=sample_weights, random_state=seed)
    return np.asarray(centres, dtype=np.float32)
