"""Nodes of `benchmark`."""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from take.corpus.budget import Budget
from take.datasets.sources import PreparedCorpora
from take.encoder.encode import Encoder
from take.evaluation.beside import Departures
from take.evaluation.cells import CellResult, cells_table
from take.evaluation.figures import budget_figure, margins_figure, scores_figure
from take.evaluation.grid import Bench, Grid, shared_for
from take.evaluation.page import Provenance, results_page
from take.evaluation.published import Published
from take.evaluation.report import EvaluationReport
from take.evaluation.settings import BenchmarkSettings, LearnerChoices
from take.evaluation.store import CellStore
from take.evaluation.summary import comparisons_table, summary_table
from take.evaluation.text import readable_table
from take.learners import SentenceVectors, Shared
from take.rows.labelled import class_sizes
from take.scoring.scoring_settings import ScoringSettings
from take.selection.selection_settings import SelectionSettings
from take.version import code_version

_logger = logging.getLogger(__name__)


class Benchmarked(NamedTuple):
    """The outputs of `summarise_benchmark`."""

    summary: pd.DataFrame
    """One row per corpus, budget, learner and method."""
    comparisons: pd.DataFrame
    """`take` against every other method."""
    report: EvaluationReport
    table: str
    """For people at a terminal."""
    page: str
    """docs/results.md."""
    scores_plot: Any
    margins_plot: Any
    budget_plot: Any


def run_benchmark(
    corpora: PreparedCorpora,
    encoder: Encoder,
    folder: Path,
    scoring: ScoringSettings,
    selection: SelectionSettings,
    choices: LearnerChoices,
    settings: BenchmarkSettings,
) -> pd.DataFrame:
    """Every cell of the grid, corpus by corpus: what was computed before is not computed again."""
    names = settings.corpora or tuple(corpora)
    corpora.check(names)
    # What is wrong with the last corpus is refused before hours are spent on the first.
    for learner in settings.curve_learners:
        choices.of(learner)
    for name in names:
        settings.check(name, corpora.labels(name))
    baselines = settings.baselines.model_copy(update={"selection": selection})
    grid = Grid(
        settings.grid.model_copy(update={"baselines": baselines}),
        choices,
        CellStore(folder),
        code_version(),
        settings.stored,
    )
    shared = Shared(phi=SentenceVectors(encoder), word_vectors=folder / "word_vectors")
    cells: list[CellResult] = []
    for name in names:
        prepared = corpora[name]
        _logger.info("Corpus %s: %s rows.", name, f"{len(prepared.corpus):,}")
        first, *others = settings.budgets_of(name)
        material = prepared.material(first, encoder, scoring, selection, folder / "searches")
        sizes = class_sizes(prepared.corpus)
        of_corpus, split = shared_for(material, shared), prepared.split()
        benches = [
            Bench(
                name,
                budget,
                replace(material, budgets=Budget.parse(budget).split(sizes)),
                split,
                of_corpus,
                grid.settings.methods if rank == 0 else settings.curve_methods,
                grid.settings.learners if rank == 0 else settings.curve_learners,
            )
            for rank, budget in enumerate((first, *others))
        ]
        cells += grid.run(benches)
    return cells_table(cells)


def summarise_benchmark(
    cells: pd.DataFrame, published: Published, settings: BenchmarkSettings
) -> Benchmarked:
    """What the cells say, beside what others published."""
    summary = summary_table(cells, settings.metrics)
    comparisons = comparisons_table(cells, settings.metrics)
    return Benchmarked(
        summary,
        comparisons,
        EvaluationReport.of(cells, summary),
        readable_table(summary),
        results_page(
            cells,
            published,
            settings.metrics,
            Provenance(["kedro run --pipeline=benchmark"], date.today().isoformat()),
            Departures(notes=settings.notes),
        ),
        scores_figure(summary),
        margins_figure(comparisons),
        budget_figure(summary),
    )
