"""Scorers: N rows in, N weights out. A new one is a file and a line in the registry."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from take.rows.arrays import Int64
from take.rows.blocks import RowBlocks
from take.scoring.evidence import Evidence
from take.scoring.scorers.base import RowScores, Scorer
from take.scoring.scorers.el2n import el2n
from take.scoring.scorers.influence_self import influence_self
from take.scoring.scorers.influence_self_kfac import influence_self_kfac
from take.scoring.scorers.last_checkpoint import last_checkpoint
from take.scoring.scorers.trajectory import trajectory as trajectory_scorer
from take.scoring.scorers.uniform import uniform
from take.scoring.settings import ScoringSettings
from take.scoring.trajectory import ProbeTrajectory
from take.scoring.weights import WeightReport, weigh

SCORERS: dict[str, Scorer] = {
    "trajectory": trajectory_scorer,
    "uniform": uniform,
    "last_checkpoint": last_checkpoint,
    "influence_self": influence_self,
    "influence_self_kfac": influence_self_kfac,
    "el2n": el2n,
}


@dataclass(frozen=True)
class ScoredCorpus:
    """One weight per row, the scores they come from, and a report on them."""

    scorer: str
    scores: NDArray[np.float64]  # (N,) before normalisation and cap, e.g. κ
    weights: NDArray[np.float64]  # (N,) sum 1
    report: WeightReport


def score(
    features: RowBlocks,
    labels: Int64,
    settings: ScoringSettings,
    *,
    n_classes: int | None = None,
    trajectory: ProbeTrajectory | None = None,
    decay: float | None = None,
) -> ScoredCorpus:
    """Weigh every row of a corpus with the scorer that the settings name.

    A trajectory or a λ* that was computed before can be handed in.

    >>> from take.rows.blocks import ArrayBlocks
    >>> features = ArrayBlocks(np.eye(4, dtype=np.float32))
    >>> settings = ScoringSettings(scorer="uniform")
    >>> score(features, np.array([0, 0, 1, 1]), settings).weights.tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    evidence = Evidence(
        features, labels, settings, n_classes=n_classes, trajectory=trajectory, decay=decay
    )
    return score_evidence(evidence, settings.scorer)


def score_evidence(evidence: Evidence, scorer: str) -> ScoredCorpus:
    """`score` with a named scorer, on evidence that several scorers may share."""
    rows: RowScores = SCORERS[scorer](evidence)
    weights, report = weigh(
        rows.values, evidence.settings.cap, rows.floored_entries, rows.inverted_entries
    )
    return ScoredCorpus(scorer, rows.values, weights, report)
