"""K-means on real rows: the row nearest to each centre of its class."""

from __future__ import annotations

import numpy as np

from take.evaluation.methods.material import Material, TrainingSet, taken_rows
from take.evaluation.methods.settings import BaselineSettings
from take.rows.arrays import Float32, Float64, Int64
from take.rows.blocks import DEFAULT_BLOCK_ROWS, RowBlocks, block_bounds
from take.selection.selectors import weighted_centres
from take.transport.costs import squared_distances


def kmeans(material: Material, settings: BaselineSettings, seed: int) -> TrainingSet:
    """K_c centres of each class in φ, every row counting alike, and a row for each centre."""
    chosen = [np.empty(0, dtype=np.int64)]
    for label, budget in enumerate(material.budgets):
        if budget:
            members = material.members(label)
            rows = material.vectors(members, settings.selection.memory_bytes)
            alike = np.full(len(members), 1 / len(members))
            centres, mass, _ = weighted_centres(
                rows, alike, budget, settings.kmeans_iterations, seed, DEFAULT_BLOCK_ROWS
            )
            heaviest_first = np.argsort(-mass, kind="stable")
            chosen.append(members[nearest_rows(rows, centres)[heaviest_first]])
    return taken_rows(material.corpus, np.concatenate(chosen), "corpus")


def nearest_rows(rows: RowBlocks, centres: Float32) -> Int64:
    """A distinct row for each of K centres, at the least total squared distance.

    A centre's row is among its K nearest, because no more than K − 1 of these can go to others: so
    K² rows at most are ever compared, however many there are.

    >>> from take.rows.blocks import ArrayBlocks
    >>> points = np.array([[0, 0], [0, 2], [9, 9]], dtype=np.float32)
    >>> nearest_rows(ArrayBlocks(points), np.array([[0, 0], [0, 0.5]], dtype=np.float32)).tolist()
    [0, 1]
    """
    from scipy.optimize import linear_sum_assignment

    K = len(centres)
    costs: Float64 = np.empty((K, 0))
    index: Int64 = np.empty((K, 0), dtype=np.int64)
    for start, stop in block_bounds(rows.shape[0]):
        block = squared_distances(rows.read(start, stop), centres).T
        costs = np.concatenate([costs, block], axis=1)
        here = np.broadcast_to(np.arange(start, stop), block.shape)
        index = np.concatenate([index, here], axis=1)
        order = np.argsort(costs, axis=1, kind="stable")[:, :K]
        costs = np.take_along_axis(costs, order, axis=1)
        index = np.take_along_axis(index, order, axis=1)
    candidates, place = np.unique(index, return_inverse=True)
    # What is not among a centre's K nearest must cost it more than any assignment without it.
    far = K * (float(costs.max()) + 1)
    table = np.full((K, len(candidates)), far)
    np.put_along_axis(table, place.reshape(index.shape), costs, axis=1)
    assigned: Int64 = candidates[linear_sum_assignment(table)[1]]
    return assigned
