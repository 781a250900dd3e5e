"""Self-influence with a Kronecker-factored Hessian, for heads too large for the dense one."""

from __future__ import annotations

from take.scoring.evidence import Evidence
from take.scoring.scorers.base import RowScores


def influence_self_kfac(evidence: Evidence) -> RowScores:
    """Eq. 5 at the last checkpoint with H ≈ G ⊗ A: w_n ∝ (gᵀ G⁻¹ g) (φ̃ᵀ A⁻¹ φ̃)."""
    return RowScores(evidence.self_influence_kfac.values)
