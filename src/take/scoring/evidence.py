"""What a scorer may look at. Costly parts are computed once, when first asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from take.rows.arrays import Float32, Int64
from take.rows.blocks import RowBlocks
from take.scoring.checks import check_features, check_labels
from take.scoring.hessian import (
    SelfInfluence,
    dense_self_influence,
    kronecker_self_influence,
)
from take.scoring.influence import influence_matrix
from take.scoring.noise import NoisyCopy, make_noisy_copy
from take.scoring.settings import ScoringSettings
from take.scoring.trajectory import ProbeTrajectory, train_probe


class Evidence:
    """A labelled corpus, its settings, and on demand its trajectory and influence matrix.

    A trajectory that was stored earlier can be handed in, and so can its influence matrix and λ*;
    they are computed otherwise.

    >>> import numpy as np
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
        self._given_trajectory = trajectory
        self._given_influence = influence
        self._given_decay = decay

    @classmethod
    def of_noisy_copy(
        cls, features: RowBlocks, copy: NoisyCopy, settings: ScoringSettings, n_classes: int
    ) -> Evidence:
        """Take the copy with flipped labels as evidence, so that scorers can be tried on it."""
        return cls(
            features,
            copy.labels,
            settings,
            n_classes=n_classes,
            trajectory=copy.trajectory,
            influence=copy.influence,
            decay=copy.decay,
        )

    @cached_property
    def trajectory(self) -> ProbeTrajectory:
        """θ_0 … θ_{T−1}."""
        return self._given_trajectory or train_probe(
            self.features, self.labels, self.n_classes, self.settings
        )

    @cached_property
    def influence(self) -> Float32:
        """I(n, t), before column normalisation."""
        if self._given_influence is not None:
            return self._given_influence
        return influence_matrix(
            self.features,
            self.labels,
            self.trajectory.weights,
            self.trajectory.biases,
            self.settings.block_rows,
        )

    @cached_property
    def self_influence(self) -> SelfInfluence:
        """Eq. 5 with the exact Hessian of the last checkpoint, damped."""
        return self._self_influence(dense_self_influence)

    @cached_property
    def self_influence_kfac(self) -> SelfInfluence:
        """Eq. 5 with the Kronecker-factored Hessian."""
        return self._self_influence(kronecker_self_influence)

    def _self_influence(self, form: Callable[..., SelfInfluence]) -> SelfInfluence:
        settings = self.settings
        return form(
            self.features, self.labels, self.trajectory, settings.damping, settings.block_rows
        )

    @cached_property
    def decay(self) -> float:
        """λ: as set, as handed in, or estimated on a copy with flipped labels."""
        if self.settings.kernel_decay != "auto":
            return self.settings.kernel_decay
        if self._given_decay is not None:
            return self._given_decay
        return make_noisy_copy(self.features, self.labels, self.n_classes, self.settings).decay
