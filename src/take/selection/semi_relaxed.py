"""Top received mass where candidates may receive what they attract."""

from __future__ import annotations

import numpy as np

from take.rows.arrays import Float64, Int64
from take.selection.problem import ClassProblem, Selected
from take.selection.settings import SelectionSettings
from take.transport.sinkhorn import semi_relaxed_mass


def semi_relaxed(problem: ClassProblem, settings: SelectionSettings, seed: int) -> Selected:
    """Rank by Σ_n w_n softmax_c(−C_nc/ε): meaningful masses, but two twins are both chosen.

    Nested in K.
    """
    mass = semi_relaxed_mass(
        problem.corpus, problem.weights, problem.pool, settings.epsilon, settings.block_rows
    )
    rows = heaviest(mass, problem.budget)
    diagnostics = {"chosen_mass": float(mass[rows].sum()), "largest_mass": float(mass.max())}
    return Selected(rows, diagnostics)


def heaviest(mass: Float64, count: int) -> Int64:
    """The largest, largest first; of equals, the first.

    >>> heaviest(np.array([1.0, 3.0, 2.0, 3.0]), 3).tolist()
    [1, 3, 2]
    """
    return np.argsort(-mass, kind="stable")[:count].astype(np.int64)
