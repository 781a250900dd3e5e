"""K-centres: the farthest row, again and again (Gonzalez 1985; Sener & Savarese 2018)."""

from __future__ import annotations

import numpy as np

from take.evaluation.methods.herding import products
from take.evaluation.methods.material import Material, TrainingSet, taken_rows
from take.evaluation.methods.settings import BaselineSettings
from take.rows.arrays import Int64
from take.rows.blocks import RowBlocks, map_blocks, squared_norms
from take.rows.random import rng


def kcenters(material: Material, settings: BaselineSettings, seed: int) -> TrainingSet:
    """Centres of each class in φ, from a first one drawn by the seed."""
    chosen = [np.empty(0, dtype=np.int64)]
    for label, budget in enumerate(material.budgets):
        if budget:
            members = material.members(label)
            first = int(rng(seed, "k-centres", label).integers(len(members)))
            rows = material.vectors(members, settings.selection.memory_bytes)
            chosen.append(members[farthest_first(rows, budget, first)])
    return taken_rows(material.corpus, np.concatenate(chosen), "corpus")


def farthest_first(rows: RowBlocks, count: int, first: int) -> Int64:
    """Greedy centres S, from the row `first`; the first k are the centres of every k.

        s_{k+1} = argmax_n min_{s∈S_k} ‖φ_n − φ_s‖²

    leaves no row farther from its centre than twice the least possible. None is taken twice, even
    where all that are left equal a centre.

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
        # ‖x‖² + ‖s‖² − 2⟨x, s⟩, of which only the last is new.
        np.minimum(nearest, norms + norms[last] - 2 * products(rows, centre), out=nearest)
        nearest[chosen[:step]] = -np.inf
        chosen[step] = nearest.argmax()
    return chosen
