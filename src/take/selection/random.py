"""Candidates drawn at random: the floor every other selector must beat."""

from __future__ import annotations

import numpy as np

from take.rows.random import rng
from take.selection.problem import ClassProblem, Selected
from take.selection.settings import SelectionSettings


def random(problem: ClassProblem, settings: SelectionSettings, seed: int) -> Selected:
    """K distinct candidates, each set as likely as any other; nested in K."""
    order = rng(seed, "random selection").permutation(len(problem.pool))
    return Selected(order[: problem.budget].astype(np.int64), {})
