from __future__ import annotations

import numpy as np
import pytest

from bench.ablation import ALL_LEARNERS, ablation_table
from take.evaluation.cells import cells_table
from take.evaluation.summary import comparisons_table
from tests.evaluation.made import cells_of, outcomes_of

TAKE = [0.70, 0.71, 0.69, 0.72, 0.68]


def ablation(cells):
    table, outcomes = cells_table(cells), outcomes_of(cells)
    return ablation_table(table, outcomes, comparisons_table(table, outcomes))


def test_variants_are_averaged_over_learners_set_by_set():
    """What one learner loses on a set, the other gains: over both, the variant loses 0.02 each."""
    wobble = np.array([0.04, -0.04, 0.02, -0.02, 0.0])
    cells = cells_of("take", TAKE, learner="lr") + cells_of("take", TAKE, learner="lr_phi")
    for learner, sign in (("lr", 1), ("lr_phi", -1)):
        scores = list(np.array(TAKE) - 0.02 + sign * wobble)
        cells += cells_of("take_without_kappa", scores, learner=learner)
    found = ablation(cells).set_index("learner")
    assert found.loc["lr", "verdict"] == "no difference shown"
    assert found.loc[ALL_LEARNERS, "difference"] == pytest.approx(0.02)
    assert found.loc[ALL_LEARNERS, "verdict"] == "better"


def test_without_variants_there_is_no_table():
    assert ablation(cells_of("take", TAKE)).empty
