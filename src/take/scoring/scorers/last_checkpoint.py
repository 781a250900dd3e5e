"""Proposition 2's baseline: κ from the last checkpoint alone."""

from __future__ import annotations

from take.scoring.evidence import Evidence
from take.scoring.kernels import kernel_values
from take.scoring.scorers.base import RowScores, reciprocal_scores


def last_checkpoint(evidence: Evidence) -> RowScores:
    """κ†_n = 1 / I(n, T−1) of Eq. 10, floored as κ is."""
    kernel = kernel_values("last", evidence.settings.checkpoints, decay=1.0)
    return reciprocal_scores(evidence.influence, kernel, evidence.settings.floor)
