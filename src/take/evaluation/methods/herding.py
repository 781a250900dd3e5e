"""Herding (Welling 2009): rows whose mean follows the class's mean."""

from __future__ import annotations

import numpy as np

from take.evaluation.methods.material import Material, TrainingSet, taken_rows
from take.evaluation.methods.settings import BaselineSettings
from take.rows.arrays import Float32, Int64
from take.rows.blocks import RowBlocks, map_blocks


def herding(material: Material, settings: BaselineSettings, seed: int) -> TrainingSet:
    """The herd of each class in φ; the same for every seed, because nothing is drawn."""
    chosen = [np.empty(0, dtype=np.int64)]
    for label, budget in enumerate(material.budgets):
        if budget:
            members = material.members(label)
            rows = material.vectors(members, settings.selection.memory_bytes)
            chosen.append(members[herd(rows, budget)])
    return taken_rows(material.corpus, np.concatenate(chosen), "corpus")


def herd(rows: RowBlocks, count: int) -> Int64:
    """Distinct rows in herding order; the first k are the herd of every k.

    With μ the mean of all rows and w_0 = μ,

        x_{t+1} = argmax_x ⟨w_t, φ(x)⟩,        w_{t+1} = w_t + μ − φ(x_{t+1}),

    so that the mean of the first k approaches μ like 1/k, where random rows do like 1/√k. Of equal
    rows the first is taken, and none twice.

    >>> from take.rows.blocks import ArrayBlocks
    >>> points = np.array([[1, 0], [0.9, 0.1], [0, 1], [0.5, 0.5]], dtype=np.float32)
    >>> herd(ArrayBlocks(points), 2).tolist()
    [0, 2]
    """
    if not count:
        return np.empty(0, dtype=np.int64)
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
