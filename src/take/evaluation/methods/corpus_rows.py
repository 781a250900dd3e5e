"""Methods that take rows of the corpus: all, random ones, herding, k-centres, k-means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from take.evaluation.methods.material import (
    BaselineSettings,
    Material,
    Method,
    TrainingSet,
    taken_rows,
)
from take.rows.arrays import Float32, Float64, Int64
from take.rows.blocks import DEFAULT_BLOCK_ROWS, RowBlocks, block_bounds, map_blocks, squared_norms
from take.rows.labelled import text_lengths
from take.rows.random import rng
from take.selection.centres import weighted_centres
from take.transport.costs import squared_distances


def full(material: Material, settings: BaselineSettings, seed: int) -> TrainingSet:
    """Every row, whatever the budget, each with weight 1."""
    return taken_rows(material.corpus, np.arange(len(material.corpus)), "corpus")


def constant(material: Material, settings: BaselineSettings, seed: int) -> TrainingSet:
    """One row of the largest class: whoever is trained on one class predicts nothing else."""
    largest = int(np.bincount(material.corpus.labels).argmax())
    return taken_rows(material.corpus, material.members(largest)[:1], "corpus")


def random(material: Material, settings: BaselineSettings, seed: int) -> TrainingSet:
    """K_c rows of each class, uniformly at random; nested in K."""

    def draw(members: Int64, budget: int, label: int) -> Int64:
        return rng(seed, "stratified rows", label).permutation(len(members))[:budget]

    return _by_class(material, draw)


def random_unstratified(material: Material, settings: BaselineSettings, seed: int) -> TrainingSet:
    """Σ K_c rows of all, regardless of class, as the paper draws them; nested in K.

    Classes are uneven, and at a tiny budget one may be missing.
    """
    order = rng(seed, "unstratified rows").permutation(len(material.corpus))
    return taken_rows(material.corpus, order[: sum(material.budgets)], "corpus")


def herding(material: Material, settings: BaselineSettings, seed: int) -> TrainingSet:
    """Herding (Welling 2009) in φ, class by class; the same for every seed: nothing is drawn."""

    def choose(members: Int64, budget: int, label: int) -> Int64:
        return herd(material.vectors(members, settings.selection.memory_bytes), budget)

    return _by_class(material, choose)


def herd(rows: RowBlocks, count: int) -> Int64:
    """Distinct rows in herding order; the first k are the herd of every k.

    With μ the mean of all rows and w_0 = μ,

        x_{t+1} = argmax_x ⟨w_t, φ(x)⟩,        w_{t+1} = w_t + μ − φ(x_{t+1}),

    so that the mean of the first k approaches μ like 1/k; that of random rows like 1/√k. Of equal
    rows the first is taken, and none twice.

    >>> from take.rows.blocks import ArrayBlocks
    >>> points = np.array([[1, 0], [0.9, 0.1], [0, 1], [0.5, 0.5]], dtype=np.float32)
    >>> herd(ArrayBlocks(points), 2).tolist()
    [0, 2]
    """
    n_rows, n_features = rows.shape
    mean = np.zeros(n_features)
    for part in map_blocks(lambda _, block: block.sum(axis=0, dtype=np.float64), rows):
        mean += part / n_rows
    pull, chosen = mean.copy(), np.empty(count, dtype=np.int64)
    for step in range(count):
        scores = products(rows, pull.astype(np.float32))
        scores[chosen[:step]] = -np.inf
        best = int(scores.argmax())
        chosen[step] = best
        pull += mean - rows.read(best, best + 1)[0]
    return chosen


def products(rows: RowBlocks, direction: Float32) -> Float32:
    """⟨φ(x), direction⟩ of each row."""
    return np.concatenate(list(map_blocks(lambda _, block: block @ direction, rows)))


def kcenters(material: Material, settings: BaselineSettings, seed: int) -> TrainingSet:
    """K-centres (Gonzalez 1985; Sener & Savarese 2018) in φ, class by class.

    The first centre is drawn by the seed; each further one is the row farthest from all centres.
    """

    def choose(members: Int64, budget: int, label: int) -> Int64:
        first = int(rng(seed, "k-centres", label).integers(len(members)))
        rows = material.vectors(members, settings.selection.memory_bytes)
        return farthest_first(rows, budget, first)

    return _by_class(material, choose)


def farthest_first(rows: RowBlocks, count: int, first: int) -> Int64:
    """Greedy centres S, from the row `first`; the first k are the centres of every k.

        s_{k+1} = argmax_n min_{s∈S_k} ‖φ_n − φ_s‖²

    leaves no row farther from its centre than twice the least possible. No row is taken twice, even
    if all that are left equal a centre.

    >>> from take.rows.blocks import ArrayBlocks
    >>> points = np.array([[0, 0], [1, 0], [5, 0], [5, 1]], dtype=np.float32)
    >>> farthest_first(ArrayBlocks(points), 3, first=0).tolist()
    [0, 3, 1]
    """
    norms = np.concatenate(list(map_blocks(lambda _, block: squared_norms(block), rows)))
    chosen = np.full(count, first, dtype=np.int64)
    nearest = np.full(rows.shape[0], np.inf, dtype=np.float32)
    for step in range(1, count):
        last = int(chosen[step - 1])
        centre = rows.read(last, last + 1)[0]
        # ‖x‖² + ‖s‖² − 2⟨x, s⟩, of which only the last term is new.
        np.minimum(nearest, norms + norms[last] - 2 * products(rows, centre), out=nearest)
        nearest[chosen[:step]] = -np.inf
        chosen[step] = nearest.argmax()
    return chosen


def among_long(method: Method) -> Method:
    """The method with the longer half of each class's rows alone, by characters.

    It compares with `take_long`, which uses the same knowledge of what models will read.
    """

    def choose(material: Material, settings: BaselineSettings, seed: int) -> TrainingSet:
        lengths = text_lengths(material.corpus.texts)
        kept = [np.empty(0, dtype=np.int64)]
        for label, budget in enumerate(material.budgets):
            members = material.members(label)
            order = members[np.argsort(-lengths[members], kind="stable")]
            kept.append(order[: max(budget, (len(order) + 1) // 2)])
        rows = np.sort(np.concatenate(kept))
        long = replace(
            material,
            corpus=material.corpus.take(rows),
            weights=material.weights[rows],
            unseen=None,
            related=None,
        )
        taken = method(long, settings, seed)
        return taken if taken.rows is None else replace(taken, rows=rows[taken.rows])

    return choose


def kmeans(material: Material, settings: BaselineSettings, seed: int) -> TrainingSet:
    """The row nearest to each of K_c centres of its class in φ, heaviest centre first."""

    def choose(members: Int64, budget: int, label: int) -> Int64:
        rows = material.vectors(members, settings.selection.memory_bytes)
        equal = np.full(len(members), 1 / len(members))
        centres, mass, _ = weighted_centres(
            rows, equal, budget, settings.kmeans_iterations, seed, DEFAULT_BLOCK_ROWS
        )
        return nearest_rows(rows, centres)[np.argsort(-mass, kind="stable")]

    return _by_class(material, choose)


def nearest_rows(rows: RowBlocks, centres: Float32) -> Int64:
    """A distinct row for each of K centres, at the least total squared distance.

    A centre's row is among its K nearest, because at most K − 1 of these can go to other centres:
    so at most K² rows are compared, however many there are.

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
    # A row that is not among a centre's K nearest must cost more than any assignment without it.
    far = K * (float(costs.max()) + 1)
    table = np.full((K, len(candidates)), far)
    np.put_along_axis(table, place.reshape(index.shape), costs, axis=1)
    assigned: Int64 = candidates[linear_sum_assignment(table)[1]]
    return assigned


def _by_class(material: Material, choose: Callable[[Int64, int, int], Int64]) -> TrainingSet:
    """What `choose(members, budget, label)` picks among the members of each class with a budget."""
    chosen = [np.empty(0, dtype=np.int64)]
    for label, budget in enumerate(material.budgets):
        if budget:
            members = material.members(label)
            chosen.append(members[choose(members, budget, label)])
    return taken_rows(material.corpus, np.concatenate(chosen), "corpus")
