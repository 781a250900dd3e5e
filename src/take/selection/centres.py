"""Weighted k-means by row blocks: for the selector and the baseline `kmeans`, and for clusters."""

from __future__ import annotations

import numpy as np

from take.rows.arrays import Float32, Float64
from take.rows.blocks import RowBlocks, block_bounds
from take.transport.costs import squared_distances
from take.transport.exact import draw_by_weight, read_rows

SEEDING_ROWS = 8192  # rows drawn by weight, on which k-means++ chooses the first centres
STOP_AT = 1e-4  # relative decrease of the inertia in an iteration


def weighted_centres(
    corpus: RowBlocks, weights: Float64, count: int, iterations: int, seed: int, block_rows: int
) -> tuple[Float32, Float64, float]:
    """Lloyd's iteration by blocks: centres, the weight of each, and Σ_n w_n min_c ‖x_n − m_c‖².

    By hand because scikit-learn's needs all rows in memory. Seeded by k-means++ on rows drawn by
    weight. A centre that loses all its rows stays where it is.
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
