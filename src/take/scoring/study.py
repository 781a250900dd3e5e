"""How trustworthy are the weights? Every scorer tried on the copy whose wrong labels are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from take.rows.arrays import Int64
from take.rows.blocks import RowBlocks
from take.scoring.checks import check_features
from take.scoring.diagnostics import (
    HardSampleBias,
    TrajectoryGap,
    flipped_label_auc,
    hard_sample_bias,
    trajectory_gap,
)
from take.scoring.evidence import Evidence
from take.scoring.hessian import MAX_DENSE_PARAMETERS
from take.scoring.noise import NoisyCopy, make_noisy_copy
from take.scoring.scorers import SCORERS, score_evidence
from take.scoring.settings import ScoringSettings


@dataclass(frozen=True)
class ScoringStudy:
    """What the noisy copy shows about a corpus, its probe and the scorers."""

    noisy_copy: NoisyCopy
    auc: dict[str, float]  # each scorer's chance to rank a flipped row below a clean one
    effective_share: dict[str, float]  # ESS / N of each scorer's weights on the copy
    proposition_1: dict[str, HardSampleBias]  # by self-influence scorer: exact or K-FAC Hessian
    proposition_2: TrajectoryGap


def study_scorers(
    features: RowBlocks,
    labels: Int64,
    n_classes: int,
    settings: ScoringSettings,
    scorers: Sequence[str] = tuple(SCORERS),
) -> ScoringStudy:
    """Flip labels in a copy, let each scorer weigh it, and judge Propositions 1 and 2 on it.

    `influence_self` is left out for a head too large for a dense Hessian.
    """
    check_features(features, settings.block_rows)
    if n_classes * (features.shape[1] + 1) > MAX_DENSE_PARAMETERS:
        scorers = [name for name in scorers if name != "influence_self"]
    copy = make_noisy_copy(features, labels, n_classes, settings)
    evidence = Evidence.of_noisy_copy(features, copy, settings, n_classes)
    noisy, resamples, seed = copy.is_flipped, settings.bootstrap_resamples, settings.seed
    scored = {name: score_evidence(evidence, name) for name in scorers}
    self_influences = {"influence_self_kfac": evidence.self_influence_kfac}
    if "influence_self" in scorers:
        self_influences["influence_self"] = evidence.self_influence
    return ScoringStudy(
        noisy_copy=copy,
        auc={name: flipped_label_auc(rows.scores, noisy) for name, rows in scored.items()},
        effective_share={name: rows.report.effective_share for name, rows in scored.items()},
        proposition_1={
            name: hard_sample_bias(values, copy.influence[:, -1], noisy, resamples, seed)
            for name, values in self_influences.items()
        },
        proposition_2=trajectory_gap(
            score_evidence(evidence, "trajectory").scores,
            score_evidence(evidence, "last_checkpoint").scores,
            noisy,
            resamples,
            seed,
        ),
    )
