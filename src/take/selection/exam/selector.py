"""`exam` as a selector: begin where transport ends, then swap while learners learn more."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import numpy as np

from take.rows.arrays import Int64
from take.selection.exam.outside import OutsideMark
from take.selection.exam.search import HISTORY_COLUMNS
from take.selection.exam.settings import ExamSettings
from take.selection.exam.store import StateStore
from take.selection.exam.task import (
    ExamResult,
    ExamRows,
    ExamTask,
    StaleStateError,
    best_taught,
    draw_parts,
    part_sizes,
)
from take.selection.facility import facility
from take.selection.problem import EachClass, LabelledRows, Selection, SelectionProblem
from take.selection.rows import rows_at
from take.selection.settings import SelectionSettings

_logger = logging.getLogger(__name__)


def exam(
    problem: SelectionProblem, settings: SelectionSettings, work: Path | None = None
) -> Selection:
    """The rows with which a panel of learners does best on train rows it has not seen.

    Begins from `facility`'s greedy rows, or from the previous rows where there are any; keeps the
    number of rows of each class as it finds it there. With a `work` folder a killed search goes on,
    and so does one that its limits ended. Where too few rows are unseen, `facility` chooses.
    """
    limits = _affordable(settings, len(problem.pool))
    if part_sizes(len(problem.unseen), limits).exam < limits.fewest_rows:
        return _without_exam(problem, settings)
    plain = settings.model_copy(update={"refine": False})
    started = EachClass(facility, can_begin=True)(problem, plain)
    parts = draw_parts(problem.unseen, limits, settings.seed)
    task = ExamTask(
        pool=_rows(problem.pool, np.arange(len(problem.pool))),
        examined=_rows(problem.corpus, parts.exam, problem.weights),
        watched=_rows(problem.corpus, parts.watched, problem.weights),
        start=_by_class(started.rows, problem),
        train_texts=problem.corpus.texts,
        seed=settings.seed,
    )
    if problem.previous is not None:
        # One pass over the positions, with as many swaps as rows may still be exchanged.
        swaps = settings.exchangeable(started.rows, problem.previous)
        few = {"max_swaps": swaps, "max_sweeps": 1, "schedule": "fixed"}
        limits = limits.model_copy(update=few)
    result = _searched(task, limits, work)
    _report(result)
    lines: list[list[float]] = result.found.history.tolist()
    steps = tuple(dict(zip(HISTORY_COLUMNS, line, strict=True)) for line in lines)
    figures = {
        "exam_rows": float(len(parts.exam)),
        "watched_rows": float(len(parts.watched)),
        **_diagnostics(result, started),
    }
    return Selection(np.concatenate(result.rows), figures, steps, started.paths)


def _searched(task: ExamTask, settings: ExamSettings, work: Path | None) -> ExamResult:
    """The search, going on from what an earlier one has left in the `work` folder."""
    if work is None:
        return best_taught(task, settings)
    store = StateStore(work, task, settings)
    try:
        result = best_taught(task, settings, store.load(), store.save)
    except StaleStateError:
        # Same code and rows, other numbers: another processor or library.
        _logger.warning("A search begun elsewhere cannot be continued here; it begins anew.")
        store.clear()
        result = best_taught(task, settings, None, store.save)
    if result.found.stopped in ("converged", "watched"):
        store.clear()  # else there is more to find for who allows more
    return result


def _affordable(settings: SelectionSettings, n_candidates: int) -> ExamSettings:
    """As many exam rows as the memory allows: K_ME and V are M × E, for each member."""
    exam = settings.exam
    bytes_per_row = 8 * n_candidates * len(exam.members)
    most = max(10, settings.memory_bytes // bytes_per_row)
    if exam.exam_rows <= most:
        return exam
    _logger.warning(
        "%s exam rows would need %s MB; %s are asked. Raise memory_megabytes for more.",
        f"{exam.exam_rows:,}",
        f"{exam.exam_rows * bytes_per_row / 2**20:,.0f}",
        f"{most:,}",
    )
    return exam.model_copy(update={"exam_rows": most})


def _without_exam(problem: SelectionProblem, settings: SelectionSettings) -> Selection:
    """`facility` in its place, said aloud."""
    _logger.warning(
        "Only %s training rows are left that the language model has not learnt from: too few for "
        "an exam (fewest_rows is %s). 'facility' chooses instead. Fix: lower the generator's "
        "token_budget, so that it leaves some, or give more rows.",
        f"{len(problem.unseen):,}",
        settings.exam.fewest_rows,
    )
    found = EachClass(facility, can_begin=True)(problem, settings)
    return replace(found, diagnostics={**found.diagnostics, "exam_rows": 0.0})


def _rows(rows: LabelledRows, index: Int64, weights: np.ndarray | None = None) -> ExamRows:
    return ExamRows(
        phi=rows_at(rows.phi, index).read(0, len(index)),
        texts=[[column[i] for i in index] for column in rows.texts],
        labels=rows.labels[index],
        weights=None if weights is None else weights[index],
    )


def _by_class(rows: Int64, problem: SelectionProblem) -> list[Int64]:
    labels = problem.pool.labels[rows]
    return [rows[labels == label] for label in range(len(problem.budgets))]


def _diagnostics(result: ExamResult, started: Selection) -> dict[str, float]:
    found = result.found
    return {
        "start_cost": started.diagnostics["cost"],
        "sweeps": float(len(found.history) - 1),
        "swaps": float(found.history[:, 1].sum()),
        "swaps_screened": float(found.screened),
        "swaps_scored": float(found.exact),
        "watched_loss_before": result.before.loss,
        "watched_loss": result.after.loss,
        "watched_accuracy_before": result.before.accuracy,
        "watched_accuracy": result.after.accuracy,
        **_marks(result.outside_before, "_before"),
        **_marks(result.outside_after, ""),
    }


def _marks(marks: tuple[OutsideMark, ...], suffix: str) -> dict[str, float]:
    return {
        f"outside_{mark.learner}_{mark.features}{suffix}".replace(" ", "_"): mark.accuracy
        for mark in marks
    }


def _report(result: ExamResult) -> None:
    found = result.found
    swaps = int(found.history[:, 1].sum())
    _logger.info(
        "Exam: %d swaps in %d sweeps, %s tried in %.0f s; stopped: %s. On watched rows the "
        "panel's accuracy went from %.1f %% to %.1f %%.",
        swaps,
        len(found.history) - 1,
        f"{found.screened:,}",
        found.seconds,
        found.stopped,
        100 * result.before.accuracy,
        100 * result.after.accuracy,
    )
