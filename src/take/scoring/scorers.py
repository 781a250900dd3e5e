"""Scorers: N rows in, N weights out. A new one is a function and a line in the registry.

`Evidence` holds what a scorer may read: the corpus, the trajectory, the influence matrix, λ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from take.rows.arrays import Float32, Float64, Int64
from take.rows.blocks import RowBlocks, squared_norms
from take.rows.passes import compute_blocks
from take.scoring.influence import influence_matrix
from take.scoring.noise import make_noisy_copy
from take.scoring.scoring_inputs import ScoringSettings, check_features, check_labels
from take.scoring.self_influence import (
    SelfInfluence,
    dense_self_influence,
    eigenvalue_corrected_self_influence,
    kronecker_self_influence,
)
from take.scoring.trajectory import ProbeTrajectory, train_probe
from take.scoring.weights import RowScores, WeightReport, kernel_values, knowledge_scores, weigh


class Evidence:
    """A labelled corpus, its settings, and what is computed from them when first needed.

    A trajectory that was stored earlier can be passed in, and so can its influence matrix and λ*.

    >>> from take.rows.blocks import ArrayBlocks
    >>> features = ArrayBlocks(np.eye(4, dtype=np.float32))
    >>> settings = ScoringSettings(checkpoints=3, batch_size=2)
    >>> Evidence(features, np.array([0, 0, 1, 1]), settings).influence.shape
    (4, 3)
    """

    def __init__(
        self,
        features: RowBlocks,
        labels: Int64,
        settings: ScoringSettings,
        *,
        n_classes: int | None = None,
        trajectory: ProbeTrajectory | None = None,
        influence: Float32 | None = None,
        decay: float | None = None,
    ) -> None:
        check_features(features, settings.block_rows)
        self.n_classes = check_labels(labels, features.shape[0], n_classes)
        self.features = features
        self.labels = labels
        self.settings = settings
        if trajectory is not None:
            self.trajectory = trajectory
        if influence is not None:
            self.influence = influence
        if settings.kernel_decay != "auto":
            self.decay = settings.kernel_decay
        elif decay is not None:
            self.decay = decay

    @cached_property
    def trajectory(self) -> ProbeTrajectory:
        """θ_0 … θ_{T−1}."""
        return train_probe(self.features, self.labels, self.n_classes, self.settings)

    @cached_property
    def influence(self) -> Float32:
        """I(n, t), before column normalisation."""
        weights, biases = self.trajectory.weights, self.trajectory.biases
        return influence_matrix(
            self.features, self.labels, weights, biases, self.settings.block_rows
        )

    @cached_property
    def self_influence(self) -> SelfInfluence:
        """Eq. 5 with the exact Hessian of the last checkpoint, damped."""
        return self._self_influence(dense_self_influence)

    @cached_property
    def self_influence_kfac(self) -> SelfInfluence:
        """Eq. 5 with the Kronecker-factored Hessian."""
        return self._self_influence(kronecker_self_influence)

    @cached_property
    def self_influence_ekfac(self) -> SelfInfluence:
        """Eq. 5 in the Kronecker eigenbasis, with refitted eigenvalues."""
        return self._self_influence(eigenvalue_corrected_self_influence)

    def _self_influence(self, form: Callable[..., SelfInfluence]) -> SelfInfluence:
        settings = self.settings
        return form(
            self.features, self.labels, self.trajectory, settings.damping, settings.block_rows
        )

    @cached_property
    def decay(self) -> float:
        """λ: as set, as passed in, or estimated on a copy with flipped labels."""
        return make_noisy_copy(self.features, self.labels, self.n_classes, self.settings).decay


def trajectory_kappa(evidence: Evidence) -> RowScores:
    """TAKE's own, Eq. 9: κ_n = Σ_t k(t) / I(n, t), with the kernel and floor of the settings."""
    settings = evidence.settings
    # Only the exponential kernel reads λ, and estimating it costs a second probe.
    decay = evidence.decay if settings.kernel == "exponential" else 1.0
    kernel = kernel_values(settings.kernel, settings.checkpoints, decay)
    return knowledge_scores(evidence.influence, kernel, settings.floor)


def last_checkpoint(evidence: Evidence) -> RowScores:
    """Proposition 2's baseline, κ†_n = 1 / I(n, T−1) of Eq. 10, floored as κ is."""
    kernel = kernel_values("last", evidence.settings.checkpoints, decay=1.0)
    return knowledge_scores(evidence.influence, kernel, evidence.settings.floor)


def uniform(evidence: Evidence) -> RowScores:
    """w_n = 1/N, so that Eq. 3 is plain distribution matching, Eq. 2. Trains no probe."""
    return RowScores(np.ones(evidence.features.shape[0]))


def influence_self(evidence: Evidence) -> RowScores:
    """Eq. 5 at the last checkpoint: w_n ∝ ∇ℓᵀ H⁻¹ ∇ℓ with the exact, damped Hessian.

    The naive scorer of the paper's §3.2, which favours noisy rows.
    """
    return RowScores(evidence.self_influence.values)


def influence_self_kfac(evidence: Evidence) -> RowScores:
    """Eq. 5 at the last checkpoint with H ≈ G ⊗ A: w_n ∝ (gᵀ G⁻¹ g) (φ̃ᵀ A⁻¹ φ̃).

    For heads too large for the dense Hessian.
    """
    return RowScores(evidence.self_influence_kfac.values)


def influence_self_ekfac(evidence: Evidence) -> RowScores:
    """Eq. 5 at the last checkpoint with EKFAC: w_n ∝ Σ_ij (q_iᵀ φ̃)² (s_jᵀ g)² / (λ_ij + α).

    As cheap as K-FAC, nearer to the exact Hessian, and damped as that is.
    """
    return RowScores(evidence.self_influence_ekfac.values)


def el2n(evidence: Evidence) -> RowScores:
    """w_n ∝ mean over t ≥ 1 of ‖p_t(x_n) − onehot(y_n)‖ (Paul et al. 2021, on one trajectory).

    The residual norm is I(n, t) of Eq. 7 without its feature factor sqrt(‖φ‖² + 1). θ_0 is left
    out: the untrained head is equally wrong about every row.
    """

    def feature_factors(start: int, block: Float32) -> Float32:
        return np.sqrt(squared_norms(block) + 1)

    block_rows = evidence.settings.block_rows
    blocks = compute_blocks(feature_factors, evidence.features, block_rows=block_rows)
    mean_norms = evidence.influence[:, 1:].mean(axis=1, dtype=np.float64)
    return RowScores(mean_norms / np.concatenate(list(blocks)))


SCORERS: dict[str, Callable[[Evidence], RowScores]] = {
    "trajectory": trajectory_kappa,
    "uniform": uniform,
    "last_checkpoint": last_checkpoint,
    "influence_self": influence_self,
    "influence_self_kfac": influence_self_kfac,
    "influence_self_ekfac": influence_self_ekfac,
    "el2n": el2n,
}


@dataclass(frozen=True)
class ScoredCorpus:
    """One weight per row, the scores they come from, and a report on them."""

    scorer: str
    scores: Float64  # (N,) before normalisation and cap, e.g. κ
    weights: Float64  # (N,) sum 1
    report: WeightReport


def score(evidence: Evidence, scorer: str | None = None) -> ScoredCorpus:
    """Weigh every row with the named scorer, or else with the scorer of the settings.

    >>> from take.rows.blocks import ArrayBlocks
    >>> features = ArrayBlocks(np.eye(4, dtype=np.float32))
    >>> settings = ScoringSettings(scorer="uniform")
    >>> score(Evidence(features, np.array([0, 0, 1, 1]), settings)).weights.tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    scorer = scorer or evidence.settings.scorer
    rows = SCORERS[scorer](evidence)
    weights, report = weigh(rows, evidence.settings.cap)
    return ScoredCorpus(scorer, rows.values, weights, report)
