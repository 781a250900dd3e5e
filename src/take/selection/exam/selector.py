"""`exam` as a selector: begin where transport ends, then swap while learners learn more."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np

from take.selection.exam.outside import OutsideMark
from take.selection.exam.search import HISTORY_COLUMNS
from take.selection.exam.settings import ExamSettings
from take.selection.exam.store import StateStore
from take.selection.exam.task import ExamResult, ExamRows, ExamTask, best_taught, draw_parts
from take.selection.facility import facility
from take.selection.problem import EachClass, LabelledRows, Selection, SelectionProblem
from take.selection.rows import Indices, rows_at
from take.selection.settings import SelectionSettings

_logger = logging.getLogger(__name__)


def exam(
    problem: SelectionProblem, settings: SelectionSettings, work: Path | None = None
) -> Selection:
    """The rows with which a panel of learners does best on train rows it has not seen.

    Begins from `facility`'s greedy rows, or from the previous rows where there are any; keeps the
    number of rows of each class as it finds it there. With a `work` folder a killed search goes on.
    """
    plain = settings.model_copy(update={"refine": False})
    started = EachClass(facility, can_begin=True)(problem, plain)
    parts = draw_parts(problem.unseen, settings.exam, settings.seed)
    task = ExamTask(
        pool=_rows(problem.pool, np.arange(len(problem.pool))),
        examined=_rows(problem.corpus, parts.exam, problem.weights),
        watched=_rows(problem.corpus, parts.watched, problem.weights),
        start=_by_class(started.rows, problem),
        train_texts=problem.corpus.texts,
        seed=settings.seed,
    )
    limits = settings.exam
    if problem.previous is not None:
        limits = _few_swaps(problem.previous, started.rows, settings)
    store = StateStore(work, task, limits) if work else None
    result = best_taught(
        task,
        limits,
        state=store.load() if store else None,
        on_sweep=store.save if store else None,
    )
    if store:
        store.clear()
    _report(result)
    steps = tuple(dict(zip(HISTORY_COLUMNS, line, strict=True)) for line in _lines(result))
    return Selection(
        np.concatenate(result.rows), _diagnostics(result, started), steps, started.paths
    )


def _few_swaps(previous: Indices, start: Indices, settings: SelectionSettings) -> ExamSettings:
    """One pass over the positions, with as many swaps as rows may still be exchanged."""
    added = len(np.setdiff1d(start, previous))
    swaps = max(0, settings.replaceable(len(start)) - added)
    return settings.exam.model_copy(
        update={"max_swaps": swaps, "max_sweeps": 1, "schedule": "fixed"}
    )


def _rows(rows: LabelledRows, index: Indices, weights: np.ndarray | None = None) -> ExamRows:
    return ExamRows(
        phi=rows_at(rows.phi, index).read(0, len(index)),
        texts=[[column[i] for i in index] for column in rows.texts],
        labels=rows.labels[index],
        weights=None if weights is None else weights[index],
    )


def _by_class(rows: Indices, problem: SelectionProblem) -> list[Indices]:
    labels = problem.pool.labels[rows]
    return [rows[labels == label] for label in range(len(problem.budgets))]


def _lines(result: ExamResult) -> list[list[float]]:
    lines: list[list[float]] = result.found.history.tolist()
    return lines


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
        "Exam: %d swaps in %d sweeps, %s scored in %.0f s; stopped: %s. On watched rows the "
        "panel's accuracy went from %.1f %% to %.1f %%.",
        swaps,
        len(found.history) - 1,
        f"{found.screened:,}",
        found.seconds,
        found.stopped,
        100 * result.before.accuracy,
        100 * result.after.accuracy,
    )
