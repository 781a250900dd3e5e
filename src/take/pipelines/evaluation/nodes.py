"""Nodes of `evaluation`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from take.encoder.embeddings import Embeddings
from take.encoder.encode import Encoder
from take.evaluation.cells import cells_table
from take.evaluation.figures import margins_figure, scores_figure
from take.evaluation.grid import Bench, Grid, shared_for
from take.evaluation.prepared import PreparedCorpus
from take.evaluation.report import EvaluationReport
from take.evaluation.settings import EvaluationSettings, LearnerChoices
from take.evaluation.store import CellStore
from take.evaluation.summary import comparisons_table, summary_table
from take.evaluation.text import readable_table
from take.learners import SentenceVectors, Shared
from take.scoring.diagnostics import StudyReport
from take.scoring.influence import InfluenceMatrix
from take.scoring.scoring_settings import ScoringSettings
from take.scoring.trajectory import ProbeTrajectory
from take.selection.selection_settings import SelectionSettings
from take.version import code_version


class Evaluated(NamedTuple):
    """The outputs of `summarise_evaluation`."""

    summary: pd.DataFrame
    """One row per learner and method."""
    comparisons: pd.DataFrame
    """The distilled rows against every other method."""
    report: EvaluationReport
    table: str
    """For people at a terminal."""
    scores_plot: Any
    margins_plot: Any


def evaluate_distilled(
    corpus: pd.DataFrame,
    evaluation_split: pd.DataFrame,
    embeddings: Embeddings,
    weights: pd.DataFrame,
    trajectory: ProbeTrajectory,
    influence: InfluenceMatrix,
    study: StudyReport,
    samples: pd.DataFrame,
    pool: pd.DataFrame,
    pool_embeddings: Embeddings,
    generator_rows: pd.DataFrame,
    distilled: pd.DataFrame,
    encoder: Encoder,
    folder: Path,
    budget: str | int,
    scoring: ScoringSettings,
    selection: SelectionSettings,
    choices: LearnerChoices,
    settings: EvaluationSettings,
) -> pd.DataFrame:
    """Every learner, taught with the rows of every method."""
    prepared = PreparedCorpus(
        settings.corpus,
        corpus,
        evaluation_split,
        embeddings,
        weights,
        trajectory,
        influence,
        study,
        samples,
        pool,
        pool_embeddings,
        generator_rows,
        distilled,
    )
    baselines = settings.baselines.model_copy(update={"selection": selection})
    grid = Grid(
        settings.model_copy(update={"baselines": baselines}),
        choices,
        CellStore(folder),
        code_version(),
    )
    material = prepared.material(str(budget), encoder, scoring, selection, folder / "searches")
    methods = settings.methods
    if baselines.file is not None and "file" not in methods:
        methods = ("file", *methods)
    bench = Bench(
        settings.corpus,
        str(budget),
        material,
        prepared.split(),
        shared_for(
            material, Shared(phi=SentenceVectors(encoder), word_vectors=folder / "word_vectors")
        ),
        methods,
        settings.learners,
    )
    return cells_table(grid.run([bench]))


def summarise_evaluation(cells: pd.DataFrame, settings: EvaluationSettings) -> Evaluated:
    """What the cells say."""
    summary = summary_table(cells, settings.metrics, compared="distilled")
    comparisons = comparisons_table(cells, settings.metrics, compared="distilled")
    return Evaluated(
        summary,
        comparisons,
        EvaluationReport.of(cells, summary),
        readable_table(summary),
        scores_figure(summary),
        margins_figure(comparisons),
    )
