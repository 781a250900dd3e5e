"""Nodes of `evaluation` and `benchmark`."""

from __future__ import annotations

import logging
from pathlib import Path
from textwrap import wrap
from typing import Any, NamedTuple

import pandas as pd

from take.datasets.sources import PreparedCorpora
from take.encoder.embeddings import Embeddings
from take.encoder.encode import Encoder
from take.evaluation.cells import CellResult, EvaluationReport, cells_table
from take.evaluation.figures import budget_figure, margins_figure, scores_figure
from take.evaluation.grid import Grid
from take.evaluation.grid_settings import BenchmarkSettings, EvaluationSettings, LearnerChoices
from take.evaluation.headlines import count_wins, over_learners
from take.evaluation.names import DISTILLED
from take.evaluation.outcomes import Outcomes
from take.evaluation.prepared_corpus import PreparedCorpus, PreparedPool
from take.evaluation.sealed_split import SealedSplit
from take.evaluation.store import CellStore
from take.evaluation.summary import comparisons_table, summary_table
from take.evaluation.tables import WIDTH, readable_table
from take.learners import SentenceVectors, Shared
from take.reuse.provenance import code_version
from take.scoring.diagnostics import StudyReport
from take.scoring.influence import InfluenceMatrix
from take.scoring.scoring_inputs import ScoringSettings
from take.scoring.trajectory import ProbeTrajectory
from take.selection.selection_settings import SelectionSettings
from take.text.copies import CopySettings

_logger = logging.getLogger(__name__)


class Evaluated(NamedTuple):
    """The outputs of `evaluate_distilled` and `run_benchmark`."""

    cells: pd.DataFrame
    outcomes: pd.DataFrame
    """Predictions of the cells, and true labels: errors over evaluation rows, accuracy by slice."""


class Summarised(NamedTuple):
    """The outputs of `summarise_cells`."""

    summary: pd.DataFrame
    """One row per corpus, budget, learner and method."""
    comparisons: pd.DataFrame
    """The distilled rows, or `take`, compared with every other method."""
    report: EvaluationReport
    table: str
    """For a terminal."""
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
    pool: pd.DataFrame,
    ledger: pd.DataFrame,
    pool_embeddings: Embeddings,
    generator_rows: pd.DataFrame,
    distilled: pd.DataFrame,
    encoder: Encoder,
    folder: Path,
    scoring: ScoringSettings,
    selection: SelectionSettings,
    copies: CopySettings,
    choices: LearnerChoices,
    budget: str | int,
    settings: EvaluationSettings,
) -> Evaluated:
    """Every learner, trained on the distilled rows and on the rows of every other method."""
    prepared = PreparedCorpus(
        settings.corpus,
        corpus,
        evaluation_split,
        embeddings,
        weights,
        trajectory,
        influence,
        study,
        (PreparedPool(settings.pool, pool, ledger, pool_embeddings, generator_rows),),
        distilled,
    )
    store = CellStore(folder)
    grid = Grid(settings.with_selection(selection), choices, store, code_version())
    shared = _shared(encoder, folder, choices)
    runs = settings.runs(str(budget))
    experiments = prepared.experiments(runs, encoder, scoring, selection, copies, shared, folder)
    cells = cells_table(grid.run(experiments))
    splits = {experiment.corpus: experiment.split for experiment in experiments}
    return Evaluated(cells, Outcomes.collected(cells, splits, store).table())


def run_benchmark(
    corpora: PreparedCorpora,
    encoder: Encoder,
    folder: Path,
    scoring: ScoringSettings,
    selection: SelectionSettings,
    copies: CopySettings,
    choices: LearnerChoices,
    settings: BenchmarkSettings,
) -> Evaluated:
    """Every cell of the grid, corpus by corpus; cells computed before are reused."""
    names = settings.corpora or tuple(corpora)
    corpora.check(names)
    # Mistakes about the last corpus are reported before hours are spent on the first.
    for learner in settings.curve_learners:
        choices.of(learner)
    for name in names:
        settings.check(name, corpora.labels(name))
    store = CellStore(folder)
    grid = Grid(
        settings.grid.with_selection(selection), choices, store, code_version(), settings.stored
    )
    shared = _shared(encoder, folder, choices)
    cells: list[CellResult] = []
    splits: dict[str, SealedSplit] = {}
    for name in names:
        prepared = corpora[name]
        _logger.info("Corpus %s: %s rows.", name, f"{len(prepared.corpus):,}")
        runs = settings.runs(name)
        experiments = prepared.experiments(
            runs, encoder, scoring, selection, copies, shared, folder
        )
        cells += grid.run(experiments)
        splits |= {experiment.corpus: experiment.split for experiment in experiments}
    found = cells_table(cells)
    return Evaluated(found, Outcomes.collected(found, splits, store).table())


def summarise_cells(cells: pd.DataFrame, outcomes: pd.DataFrame) -> Summarised:
    """Tables, report and plots of the cells; the distilled rows, or `take`, are compared."""
    compared = DISTILLED if (cells["method"] == DISTILLED).any() else "take"
    known = Outcomes.of(outcomes)
    summary = summary_table(cells, known, compared)
    comparisons = comparisons_table(cells, known, compared)
    sentences = count_wins(comparisons, compared).sentences()
    return Summarised(
        summary,
        comparisons,
        EvaluationReport.of(cells, summary, over_learners(summary)),
        "\n\n".join([readable_table(summary), *("\n".join(wrap(one, WIDTH)) for one in sentences)]),
        scores_figure(summary),
        margins_figure(comparisons),
    )


def plot_budgets(summary: pd.DataFrame) -> Any:
    """The scores against the number of rows."""
    return budget_figure(summary)


def _shared(encoder: Encoder, folder: Path, choices: LearnerChoices) -> Shared:
    return Shared(
        phi=SentenceVectors(encoder),
        encoder=encoder.settings.model,
        language_models=choices.language_models,
        word_vectors=folder / "word_vectors",
    )
