"""`exam` as a selector: start from the rows of `facility`, then swap while surrogates improve."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import numpy as np

from take.rows.arrays import Int64
from take.rows.blocks import ArrayBlocks
from take.rows.labelled import LabelledRows
from take.selection.exam.search import HISTORY_COLUMNS, SWAPS
from take.selection.exam.store import StateStore
from take.selection.exam.task import (
    ExamResult,
    ExamTask,
    StaleStateError,
    best_rows,
    draw_rows,
    row_counts,
)
from take.selection.facility import facility
from take.selection.problem import EachClass, Selection, SelectionProblem, with_class_mass
from take.selection.selection_settings import ExamSettings, SelectionSettings

_logger = logging.getLogger(__name__)


def exam(
    problem: SelectionProblem, settings: SelectionSettings, work: Path | None = None
) -> Selection:
    """The rows with which surrogate models have the lowest loss on unseen training rows.

    Starts from `facility`'s greedy rows, or from the previous rows, and keeps their number in each
    class. With a `work` folder a search that was killed, or ended by its limits, is resumed. If too
    few rows are unseen, `facility` chooses.
    """
    limits = _affordable(settings, len(problem.pool))
    if row_counts(len(problem.unseen), limits).exam < limits.fewest_rows:
        return _without_exam(problem, settings, len(problem.unseen))
    drawn = draw_rows(problem.unseen, problem.relations, limits, settings.seed)
    if len(drawn.exam) < limits.fewest_rows:
        return _without_exam(problem, settings, len(drawn.exam))
    if settings.coupling.by is not None:
        _logger.warning(
            "coupling.by is %r: it acts on the rows that the search of `exam` starts from, and not "
            "on its swaps, which follow the loss of the surrogate models alone.",
            settings.coupling.by,
        )
    greedy = settings.model_copy(update={"refine": False})
    started = EachClass(facility, can_begin=True)(problem, greedy)
    corpus = replace(problem.corpus, weights=problem.weights)
    task = ExamTask(
        pool=_in_memory(problem.pool),
        exam=_in_memory(_at_same_mass(corpus.take(drawn.exam), problem)),
        validation=_in_memory(_at_same_mass(corpus.take(drawn.validation), problem)),
        start=_by_class(started.rows, problem),
        train_texts=corpus.texts,
        seed=settings.seed,
    )
    if problem.previous is not None:
        # One pass over the positions, with as many swaps as rows may still be replaced.
        swaps = settings.replaceable(started.rows, problem.previous)
        few = {"max_swaps": swaps, "max_sweeps": 1, "schedule": "fixed"}
        limits = limits.model_copy(update=few)
    result = _searched(task, limits, work)
    _log(result)
    lines: list[list[float]] = result.found.history.tolist()
    steps = tuple(dict(zip(HISTORY_COLUMNS, line, strict=True)) for line in lines)
    return Selection(
        np.concatenate(result.rows), _diagnostics(task, result, started), steps, started.paths
    )


def _searched(task: ExamTask, settings: ExamSettings, work: Path | None) -> ExamResult:
    """The search, resumed from the state an earlier one left in the `work` folder."""
    if work is None:
        return best_rows(task, settings)
    store = StateStore(work, task, settings)
    try:
        result = best_rows(task, settings, store.load(), store.save)
    except StaleStateError:
        # Same code and rows, other numbers: another processor or library.
        _logger.warning("A search begun on another machine cannot be resumed here; it restarts.")
        store.clear()
        result = best_rows(task, settings, None, store.save)
    if result.found.stopped in ("converged", "validation"):
        store.clear()  # otherwise higher limits would find more
    return result


def _affordable(settings: SelectionSettings, n_candidates: int) -> ExamSettings:
    """As many exam rows as the memory allows: K_ME and V are M × E, for each surrogate."""
    exam = settings.exam
    bytes_per_row = 8 * n_candidates * len(exam.surrogates)
    most = max(10, settings.memory_bytes // bytes_per_row)
    if exam.exam_rows <= most:
        return exam
    _logger.warning(
        "%s exam rows would need %s MB; %s are used. Raise memory_megabytes for more.",
        f"{exam.exam_rows:,}",
        f"{exam.exam_rows * bytes_per_row / 2**20:,.0f}",
        f"{most:,}",
    )
    return exam.model_copy(update={"exam_rows": most})


def _without_exam(problem: SelectionProblem, settings: SelectionSettings, n_left: int) -> Selection:
    """The choice of `facility` instead, with a warning."""
    _logger.warning(
        "Only %s training rows are left that are unlike those the language model was trained on: "
        "too few for an exam (fewest_rows is %s). 'facility' selects instead. Fix: lower "
        "generation.fine_tuning.token_budget, or add rows to the corpus.",
        f"{n_left:,}",
        settings.exam.fewest_rows,
    )
    found = EachClass(facility, can_begin=True)(problem, settings)
    return replace(found, diagnostics={**found.diagnostics, "exam_rows": 0.0})


def _at_same_mass(rows: LabelledRows, problem: SelectionProblem) -> LabelledRows:
    """The rows with each class at the mass that it has in the problem, whatever was drawn."""
    n_classes = len(problem.budgets)
    mass = np.bincount(problem.corpus.labels, problem.weights, minlength=n_classes)
    weights = np.ones(len(rows)) if rows.weights is None else rows.weights
    return replace(rows, weights=with_class_mass(weights, rows.labels, mass.astype(np.float64)))


def _in_memory(rows: LabelledRows) -> LabelledRows:
    return replace(rows, phi=ArrayBlocks(rows.phi.read(0, len(rows))))


def _by_class(rows: Int64, problem: SelectionProblem) -> list[Int64]:
    labels = problem.pool.labels[rows]
    return [rows[labels == label] for label in range(len(problem.budgets))]


def _diagnostics(task: ExamTask, result: ExamResult, started: Selection) -> dict[str, float]:
    found = result.found
    return {
        "exam_rows": float(len(task.exam)),
        "validation_rows": float(len(task.validation)),
        "start_cost": started.diagnostics["cost"],
        "sweeps": float(len(found.history) - 1),
        "swaps": float(found.history[:, SWAPS].sum()),
        "swaps_screened": float(found.screened),
        "swaps_scored": float(found.exact),
        "validation_loss_before": result.before.loss,
        "validation_loss": result.after.loss,
        "validation_accuracy_before": result.before.accuracy,
        "validation_accuracy": result.after.accuracy,
        **_independent(result.independent_before, "_before"),
        **_independent(result.independent_after, ""),
    }


def _independent(accuracies: dict[str, float], suffix: str) -> dict[str, float]:
    return {
        f"independent_{name}{suffix}".replace(",", "").replace(" ", "_"): accuracy
        for name, accuracy in accuracies.items()
    }


def _log(result: ExamResult) -> None:
    found = result.found
    _logger.info(
        "Exam: %d swaps in %d sweeps, %s tried in %.0f s; stopped: %s. Plain accuracy of the "
        "surrogate models on validation rows of the training split: %.1f %% before, %.1f %% after.",
        int(found.history[:, SWAPS].sum()),
        len(found.history) - 1,
        f"{found.screened:,}",
        found.seconds,
        found.stopped,
        100 * result.before.accuracy,
        100 * result.after.accuracy,
    )
