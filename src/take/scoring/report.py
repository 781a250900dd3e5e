"""What scoring found, as plain numbers and names: for JSON, MLflow and plots. Holds no text."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from take.rows.arrays import Int64
from take.scoring.scorers import ScoredCorpus
from take.scoring.study import ScoringStudy
from take.scoring.trajectory import ProbeTrajectory
from take.scoring.views import class_shares, rank_correlation, weight_histogram


class StudyReport(BaseModel):
    """The scorers on the copy whose wrong labels are known."""

    onset: int
    """T_m: the checkpoint at which wrong labels start to be memorised; T if never."""
    decay: float
    """λ* = T / T_m."""
    flipped_norms: list[float]
    clean_norms: list[float]
    auc: dict[str, float]
    """Each scorer's chance to rank a flipped row below a clean one."""
    effective_share: dict[str, float]
    """ESS / N of each scorer's weights on the copy."""
    proposition_1: dict[str, dict[str, Any]]
    proposition_2: dict[str, Any]

    @classmethod
    def of(cls, study: ScoringStudy) -> StudyReport:
        """The study without its arrays over rows."""
        return cls(
            onset=study.noisy_copy.onset,
            decay=study.noisy_copy.decay,
            flipped_norms=study.noisy_copy.flipped_norms.tolist(),
            clean_norms=study.noisy_copy.clean_norms.tolist(),
            auc=study.auc,
            effective_share=study.effective_share,
            proposition_1={name: asdict(bias) for name, bias in study.proposition_1.items()},
            proposition_2=asdict(study.proposition_2),
        )


class ScoringReport(BaseModel):
    """The weights: how far from uniform, what floor and cap did, whom they favour."""

    scorer: str
    kernel: str
    decay: float
    weights: dict[str, Any]
    probe: dict[str, list[float]]
    """Accuracy and loss by checkpoint, on the corpus and on rows a twin probe never saw."""
    class_share: dict[str, float]
    weight_share: dict[str, float]
    length_correlation: float
    """Spearman's ρ of weight and text length; far from 0, the score follows length."""
    histogram_edges: list[float]
    histogram_counts: list[int]

    @classmethod
    def of(
        cls,
        scored: ScoredCorpus,
        trajectory: ProbeTrajectory,
        labels: Int64,
        label_names: list[str],
        lengths: NDArray[np.int64],
        kernel: str,
        decay: float,
    ) -> ScoringReport:
        """Gather the report on one scored corpus."""
        n_classes = len(label_names)
        uniform = np.full(len(labels), 1 / len(labels))
        histogram = weight_histogram(scored.weights)
        return cls(
            scorer=scored.scorer,
            kernel=kernel,
            decay=decay,
            weights=asdict(scored.report),
            probe={
                name: np.asarray(getattr(trajectory, name)).tolist()
                for name in ("train_accuracy", "train_loss", "held_out_accuracy", "held_out_loss")
            },
            class_share=_by_name(class_shares(uniform, labels, n_classes), label_names),
            weight_share=_by_name(class_shares(scored.weights, labels, n_classes), label_names),
            length_correlation=rank_correlation(scored.weights, lengths.astype(np.float64)),
            histogram_edges=histogram.edges.tolist(),
            histogram_counts=histogram.counts.tolist(),
        )


def _by_name(shares: NDArray[np.float64], names: list[str]) -> dict[str, float]:
    return {name: float(share) for name, share in zip(names, shares, strict=True)}
