"""Nodes of `scoring`."""

from __future__ import annotations

import logging
import warnings
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from take.encoder.embeddings import Embeddings
from take.reuse.tensors import TensorStream
from take.rows.arrays import Int64
from take.rows.labelled import TEXT_COLUMNS, class_ids, class_names, task_of
from take.scoring.diagnostics import StudyReport
from take.scoring.diagnostics import study_scorers as study
from take.scoring.influence import InfluenceMatrix, InfluenceStream, influence_blocks
from take.scoring.report import ScoringReport, extreme_rows, trajectory_figure, weights_figure
from take.scoring.scorers import Evidence, score
from take.scoring.scoring_inputs import ScoringSettings, ScoringWarning
from take.scoring.trajectory import ProbeTrajectory
from take.scoring.trajectory import train_probe as train

_logger = logging.getLogger(__name__)


class Weighed(NamedTuple):
    """The outputs of `weigh_rows`."""

    weights: pd.DataFrame
    """One row per corpus row, in its order: id, score, weight."""
    report: ScoringReport


class ScoringFigures(NamedTuple):
    """The outputs of `plot_scoring`."""

    trajectory_plot: Any
    weights_plot: Any


def train_probe(
    embeddings: Embeddings, corpus: pd.DataFrame, settings: ScoringSettings
) -> ProbeTrajectory:
    """θ_0 … θ_{T−1} of a linear probe on the whole corpus."""
    labels = class_ids(corpus)
    evidence = Evidence(embeddings, labels, settings)  # refuses bad numbers before training
    trajectory = train(embeddings, labels, evidence.n_classes, settings)
    _logger.info(
        "Probe after %s updates: accuracy %.1f %% on the corpus, %.1f %% on validation rows.",
        f"{int(trajectory.steps[-1]):,}",
        100 * trajectory.train_accuracy[-1],
        100 * trajectory.validation_accuracy[-1],
    )
    return trajectory


def measure_influence(
    embeddings: Embeddings,
    corpus: pd.DataFrame,
    trajectory: ProbeTrajectory,
    settings: ScoringSettings,
) -> InfluenceStream:
    """I(n, t) of every row and checkpoint."""
    blocks = influence_blocks(
        embeddings, class_ids(corpus), trajectory.weights, trajectory.biases, settings.block_rows
    )
    shape = (len(corpus), len(trajectory.biases))
    return InfluenceStream(TensorStream(shape, np.dtype("<f4"), blocks))


def study_scorers(
    embeddings: Embeddings, corpus: pd.DataFrame, settings: ScoringSettings
) -> StudyReport:
    """T_m, λ*, and how every scorer treats labels known to be wrong."""
    labels = class_ids(corpus)
    with warnings.catch_warnings():
        # Low effective sample sizes of scorers that were not chosen are a result here, no warning.
        warnings.simplefilter("ignore", ScoringWarning)
        report = study(embeddings, labels, int(labels.max()) + 1, settings)
    aucs = ", ".join(f"{name} {auc:.3f}" for name, auc in report.auc.items())
    _logger.info(
        "T_m = %s, λ* = %.2f. AUC for flipped labels: %s.", report.onset, report.decay, aucs
    )
    return report


def weigh_rows(
    embeddings: Embeddings,
    corpus: pd.DataFrame,
    trajectory: ProbeTrajectory,
    influence: InfluenceMatrix,
    study: StudyReport,
    settings: ScoringSettings,
) -> Weighed:
    """κ and the weight of every row, and the report on them."""
    labels = class_ids(corpus)
    evidence = Evidence(
        embeddings,
        labels,
        settings,
        trajectory=trajectory,
        influence=influence.values,
        decay=study.decay,
    )
    with warnings.catch_warnings(record=True) as doubts:
        warnings.simplefilter("always", ScoringWarning)
        scored = score(evidence)
    for doubt in doubts:
        _logger.warning("%s", doubt.message)
    weights = pd.DataFrame({"id": corpus["id"], "score": scored.scores, "weight": scored.weights})
    report = ScoringReport.of(scored, evidence, class_names(corpus), _lengths(corpus))
    _logger.info(
        "Weights by '%s': effective sample size %.0f %% of the rows, heaviest 1 %% hold %.1f %%.",
        scored.scorer,
        100 * scored.report.effective_share,
        100 * scored.report.top_percent_share,
    )
    return Weighed(weights, report)


def show_extreme_rows(corpus: pd.DataFrame, weights: pd.DataFrame) -> pd.DataFrame:
    """The ten rows of each class that weigh most, and the ten that weigh least."""
    return extreme_rows(corpus, weights["weight"].to_numpy())


def plot_scoring(report: ScoringReport, study: StudyReport) -> ScoringFigures:
    """The plots of trajectory and weights."""
    return ScoringFigures(trajectory_figure(report, study), weights_figure(report, study))


def _lengths(corpus: pd.DataFrame) -> Int64:
    columns = TEXT_COLUMNS[task_of(corpus)]
    lengths = [corpus[column].str.len().to_numpy(np.int64) for column in columns]
    total: Int64 = np.sum(lengths, axis=0, dtype=np.int64)
    return total
