"""TAKE's own scorer: κ along the whole trajectory."""

from __future__ import annotations

from take.scoring.evidence import Evidence
from take.scoring.kernels import kernel_values
from take.scoring.scorers.base import RowScores, reciprocal_scores


def trajectory(evidence: Evidence) -> RowScores:
    """Eq. 9: κ_n = Σ_t k(t) / I(n, t), with the kernel and floor of the settings."""
    settings = evidence.settings
    # Only the exponential kernel reads λ, and estimating it costs a second probe.
    decay = evidence.decay if settings.kernel == "exponential" else 1.0
    kernel = kernel_values(settings.kernel, settings.checkpoints, decay)
    return reciprocal_scores(evidence.influence, kernel, settings.floor)
