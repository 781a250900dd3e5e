"""The naive scorer of the paper's §3.2: weight by self-influence, which favours noisy rows."""

from __future__ import annotations

from take.scoring.evidence import Evidence
from take.scoring.scorers.base import RowScores


def influence_self(evidence: Evidence) -> RowScores:
    """Eq. 5 at the last checkpoint: w_n ∝ ∇ℓᵀ H⁻¹ ∇ℓ with the exact, damped Hessian."""
    return RowScores(evidence.self_influence.values)
