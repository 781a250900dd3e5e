"""Nodes of `distillation`."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from take.audit.privacy.objections import row_objections
from take.audit.privacy.pii import PiiSettings
from take.corpus.budget import Budget
from take.encoder.embeddings import Embeddings
from take.rows.labelled import (
    TEXT_COLUMNS,
    LabelledRows,
    class_ids,
    class_names,
    class_sizes,
    task_of,
)
from take.selection.describe.curve import CurveOptions, budget_curve
from take.selection.describe.distillation import Distillation
from take.selection.describe.distillation_report import DistillationReport, RunFacts
from take.selection.describe.figures import coverage_figure, curve_figure, transport_figure
from take.selection.describe.indicators import (
    IndicatorOptions,
    least_covered_regions,
    measure,
    random_choice,
)
from take.selection.describe.lineage import Lineage, lineage_tables, trace
from take.selection.describe.map import map_coordinates
from take.selection.exclusion import excluded_rows
from take.selection.groups import row_groups
from take.selection.problem import SelectionProblem, selection_weights
from take.selection.selection_report import SearchStep, SelectionReport, search_figure
from take.selection.selection_settings import DescriptionSettings, SelectionSettings
from take.selection.selectors import selector
from take.selection.tables import (
    check_distilled,
    path_table,
    paths_of,
    places_of,
    unseen_rows,
)
from take.text.copies import CopySettings
from take.text.related import RelatedRows

_logger = logging.getLogger(__name__)


class ChosenRows(NamedTuple):
    """The outputs of `select_rows`."""

    selection: pd.DataFrame
    """The chosen pool rows by id, class by class, in order of choice."""
    report: SelectionReport
    greedy_path: pd.DataFrame
    """The nested path of the selector by part and rank; empty if it has none."""
    excluded: pd.DataFrame
    """The candidates that could not be chosen, with the reason of each."""


class TracedRows(NamedTuple):
    """The outputs of `trace_rows`."""

    trace: Lineage
    distilled: pd.DataFrame
    lineage: pd.DataFrame
    """The training rows each distilled row represents, heaviest first."""
    lineage_totals: pd.DataFrame
    """Totals of each distilled row, without ids or texts of training rows."""
    assignments: pd.DataFrame
    """Every training row and its distilled row."""


class Description(NamedTuple):
    """The outputs of `describe_distilled`."""

    report: DistillationReport
    budget_curve: pd.DataFrame
    least_covered: pd.DataFrame
    map_coordinates: pd.DataFrame
    transport_plot: Any
    coverage_plot: Any
    budget_plot: Any


def screen_candidates(
    pool: pd.DataFrame,
    corpus: pd.DataFrame,
    evaluation_split: pd.DataFrame,
    copies: CopySettings,
    pii: PiiSettings,
) -> pd.DataFrame:
    """What the privacy gate would object to in single candidates.

    Screening left no copies of the rows it knew. The corpus may have grown since, settings may have
    changed, and it does not search for shared spans and personal data.
    """
    return row_objections(pool, corpus, evaluation_split, copies, pii)


def select_rows(
    corpus: pd.DataFrame,
    embeddings: Embeddings,
    weights: pd.DataFrame,
    pool: pd.DataFrame,
    pool_embeddings: Embeddings,
    generator_rows: pd.DataFrame,
    objections: pd.DataFrame,
    search_folder: Path,
    budget: str | int,
    settings: SelectionSettings,
    copies: CopySettings,
    previous_distilled: pd.DataFrame | None = None,
) -> ChosenRows:
    """The candidates that become the distilled rows, starting from the previous ones if given.

    Candidates to which the privacy gate would object are excluded; others are chosen instead.
    """
    budgets = Budget.parse(budget).split(class_sizes(corpus))
    excluded = excluded_rows(pool, objections, budgets, settings.scope)
    allowed = np.flatnonzero(~pool["id"].isin(set(excluded["id"])))
    candidates = pool.iloc[allowed].reset_index(drop=True)
    previous = None if previous_distilled is None else places_of(previous_distilled, candidates)
    rows = LabelledRows.of(corpus, embeddings)
    related = RelatedRows(list(zip(*rows.texts, strict=True)), copies)
    problem = SelectionProblem(
        rows,
        selection_weights(weights["weight"].to_numpy(), corpus["label"].to_numpy(), settings),
        LabelledRows.of(candidates, pool_embeddings.subset(allowed)),
        budgets,
        unseen_rows(corpus, generator_rows, related, settings.exam.exam_rows),
        settings.scope,
        previous,
        related,
    )
    found = selector(settings.selector)(problem, settings, search_folder)
    kept = None if previous is None else int(np.isin(previous, found.rows).sum())
    report = SelectionReport(
        selector=settings.selector,
        scope=settings.scope,
        budget=str(Budget.parse(budget)),
        rows=len(found.rows),
        pool_rows=len(pool),
        excluded={str(reason): int(n) for reason, n in excluded["reason"].value_counts().items()},
        kept_rows=kept,
        seed=settings.seed,
        tempering=settings.tempering,
        class_mass=settings.class_mass,
        figures=found.diagnostics | problem.figures(found.rows, settings),
        steps=[SearchStep.model_validate(step) for step in found.steps],
        playoff=found.playoff,
    )
    if previous_distilled is not None:
        _logger.info("%s of %s rows distilled before are kept.", kept, len(previous_distilled))
    selection = candidates[["id", "label", "label_name"]].iloc[found.rows].reset_index(drop=True)
    return ChosenRows(selection, report, path_table(found.paths, candidates), excluded)


def trace_rows(
    selection: pd.DataFrame,
    pool: pd.DataFrame,
    pool_embeddings: Embeddings,
    corpus: pd.DataFrame,
    embeddings: Embeddings,
    weights: pd.DataFrame,
    choice: SelectionSettings,
    settings: DescriptionSettings,
) -> TracedRows:
    """The distilled rows, and the training rows that each represents."""
    distillation = _distillation(
        selection, pool, pool_embeddings, corpus, embeddings, weights, choice
    )
    groups = None
    if settings.plan == "entropic":
        rows = LabelledRows.of(corpus, embeddings)
        w, scope = distillation.weights, distillation.scope
        groups = row_groups(rows, w, scope, choice.coupling, choice.seed)
    lineage = trace(distillation, settings.plan, settings.lineage_rows, choice.epsilon, groups)
    columns = ["id", *TEXT_COLUMNS[task_of(pool)], "label", "label_name"]
    distilled = pool[columns].iloc[distillation.chosen].reset_index(drop=True)
    by_mass = settings.sample_weights == "mass"
    distilled["weight"] = lineage.assigned * len(distilled) if by_mass else 1.0
    check_distilled(distilled, class_names(corpus))
    _logger.info("Distilled %s rows into %s.", f"{len(corpus):,}", len(distilled))
    return TracedRows(lineage, distilled, *lineage_tables(lineage, corpus, distilled))


def describe_distilled(
    distilled: pd.DataFrame,
    lineage: Lineage,
    selection_report: SelectionReport,
    greedy_path: pd.DataFrame,
    pool: pd.DataFrame,
    pool_embeddings: Embeddings,
    corpus: pd.DataFrame,
    embeddings: Embeddings,
    weights: pd.DataFrame,
    choice: SelectionSettings,
    settings: DescriptionSettings,
) -> Description:
    """How well the distilled rows represent the corpus, and what other budgets would give."""
    distillation = _distillation(
        distilled, pool, pool_embeddings, corpus, embeddings, weights, choice
    )
    names, known = class_names(corpus), paths_of(greedy_path, pool)
    covered = distillation.cover()
    random = distillation.cover(random_choice(distillation, settings.seed))
    regions = least_covered_regions(distillation, covered.allowed, corpus, distilled)
    # Up to the budget set by the user, or to the end of the selector's path.
    gone = min(map(len, known), default=2 * distillation.rows_per_part)
    curve_options = CurveOptions(
        largest=settings.curve_rows_per_class or gone,
        memory_bytes=choice.memory_bytes,
        block_rows=choice.block_rows,
        seed=settings.seed,
    )
    curve = budget_curve(distillation, curve_options, known)
    run = RunFacts(
        selector=choice.selector,
        scope=choice.scope,
        budget=selection_report.budget,
        seed=choice.seed,
        tempering=choice.tempering,
    )
    options = IndicatorOptions(settings.sample_rows, choice.epsilon, settings.seed)
    report = measure(distillation, lineage, covered, random, names, run, options)
    report = report.model_copy(update={"regions": regions.report, "knee": curve.knee})
    _logger.info("Distilled rows (random rows): %s.", report.summary())
    _logger.info(curve.knee.sentence)
    points = map_coordinates(distillation, lineage, settings.seed)
    return Description(
        report,
        curve.table,
        regions.table,
        points,
        transport_figure(points, names),
        coverage_figure(covered, random, distillation.labels, names),
        curve_figure(curve, distillation.rows_per_part, report.cost),
    )


def plot_search(selection_report: SelectionReport) -> Any:
    """The steps of the search for the rows."""
    return search_figure(selection_report)


def _distillation(
    chosen: pd.DataFrame,
    pool: pd.DataFrame,
    pool_embeddings: Embeddings,
    corpus: pd.DataFrame,
    embeddings: Embeddings,
    weights: pd.DataFrame,
    choice: SelectionSettings,
) -> Distillation:
    return Distillation(
        corpus=embeddings,
        weights=selection_weights(weights["weight"].to_numpy(), corpus["label"].to_numpy(), choice),
        labels=class_ids(corpus),
        pool=pool_embeddings.read(0, len(pool)),
        pool_labels=class_ids(pool),
        chosen=pd.Index(pool["id"]).get_indexer(chosen["id"]),
        scope=choice.scope,
    )
