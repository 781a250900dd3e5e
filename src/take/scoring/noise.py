"""When does the probe start to memorise wrong labels? T_m and λ* (METHOD §1.5).

Needs rows known to be wrong, so labels are flipped in a copy of the corpus. The copy serves this
estimate and the diagnostics, and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from take.rows.arrays import Bools, Float32, Float64, Int64
from take.rows.blocks import RowBlocks
from take.rows.random import rng
from take.scoring.influence import influence_matrix
from take.scoring.scoring_inputs import ScoringSettings
from take.scoring.trajectory import ProbeTrajectory, train_probe


@dataclass(frozen=True)
class NoisyCopy:
    """The corpus with some labels flipped, the probe trained on it, and what that shows."""

    labels: Int64  # (N,) with the flipped ones
    is_flipped: Bools  # (N,)
    trajectory: ProbeTrajectory
    influence: Float32  # (N, T)
    flipped_norms: Float64  # (T,) mean gradient norm of the flipped rows
    clean_norms: Float64  # (T,) and of the others
    onset: int  # T_m
    decay: float  # λ* = T / T_m


class FlippedLabels(NamedTuple):
    """Labels of which some are wrong on purpose, and which ones."""

    labels: Int64
    is_flipped: Bools


def flip_labels(labels: Int64, n_classes: int, share: float, seed: int) -> FlippedLabels:
    """Copy the labels and give `share` of the rows another class.

    >>> labels = np.array([0, 1, 0, 1])
    >>> flipped, is_flipped = flip_labels(labels, n_classes=2, share=0.5, seed=0)
    >>> int(is_flipped.sum()), bool(((flipped != labels) == is_flipped).all())
    (2, True)
    """
    random = rng(seed, "flipped labels")  # not the stream of batches or validation rows
    count = max(1, round(share * len(labels)))
    rows = random.choice(len(labels), size=count, replace=False)
    flipped = labels.copy()
    # A shift by 1 … C−1 reaches every other class with equal chance, and never the same one.
    flipped[rows] = (labels[rows] + random.integers(1, n_classes, size=count)) % n_classes
    is_flipped = np.zeros(len(labels), dtype=np.bool_)
    is_flipped[rows] = True
    return FlippedLabels(flipped, is_flipped)


def memorisation_onset(noisy_norms: Float64) -> int:
    """T_m: the first t ≥ 1 at which noisy rows' mean gradient norm is below its value at t = 0.

    T_m = min {t ≥ 1 : E_noisy ‖∇ℓ(z; θ_t)‖ < E_noisy ‖∇ℓ(z; θ_0)‖}, or T if there is none, which
    is usual for a linear probe on a large corpus: it never fits the wrong labels. (Appendix A.2
    of the paper, where T_m is defined.)

    >>> memorisation_onset(np.array([1.0, 1.2, 1.1, 0.9, 0.8]))
    3
    >>> memorisation_onset(np.array([1.0, 1.2, 1.1]))
    3
    """
    below = np.flatnonzero(noisy_norms[1:] < noisy_norms[0])
    return int(below[0]) + 1 if len(below) else len(noisy_norms)


def make_noisy_copy(
    features: RowBlocks, labels: Int64, n_classes: int, settings: ScoringSettings
) -> NoisyCopy:
    """Flip labels in a copy, train the same probe on it, and read off T_m and λ* = T / T_m."""
    flipped, is_flipped = flip_labels(labels, n_classes, settings.noise_share, settings.seed)
    trajectory = train_probe(features, flipped, n_classes, settings)
    influence = influence_matrix(
        features, flipped, trajectory.weights, trajectory.biases, settings.block_rows
    )
    flipped_norms = _means(influence, is_flipped)
    onset = memorisation_onset(flipped_norms)
    return NoisyCopy(
        labels=flipped,
        is_flipped=is_flipped,
        trajectory=trajectory,
        influence=influence,
        flipped_norms=flipped_norms,
        clean_norms=_means(influence, ~is_flipped),
        onset=onset,
        decay=settings.checkpoints / onset,
    )


def _means(influence: Float32, rows: Bools) -> Float64:
    """The mean of each column over some rows, without a copy of them."""
    means: Float64 = influence.mean(axis=0, dtype=np.float64, where=rows[:, None])
    return means
