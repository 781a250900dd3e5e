"""`exam` as a selector: start from the rows of `facility`, then swap while surrogates improve."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from take.learners import DEFAULTS, Learner, Shared, Texts, TrainingRows, make_learner
from take.rows.arrays import Int64
from take.rows.blocks import ArrayBlocks
from take.rows.labelled import LabelledRows, text_lengths
from take.rows.random import rng
from take.selection.exam.playoff import Playoff, Trainers, playoff
from take.selection.exam.search import HISTORY_COLUMNS, SWAPS
from take.selection.exam.store import StateStore, clear_states
from take.selection.exam.task import (
    ExamResult,
    ExamTask,
    StaleStateError,
    best_rows,
    draw_rows,
    row_counts,
)
from take.selection.exam.views import fitted_tfidf
from take.selection.facility import facility
from take.selection.problem import EachClass, Selection, SelectionProblem, with_class_mass
from take.selection.selection_settings import ExamSettings, PlayoffSettings, SelectionSettings

_logger = logging.getLogger(__name__)


def exam(
    problem: SelectionProblem, settings: SelectionSettings, work: Path | None = None
) -> Selection:
    """The rows with which surrogate models have the lowest loss on unseen training rows.

    Starts from `facility`'s greedy rows, or from the previous rows, and keeps their number in each
    class. Of several searches a playoff chooses one. With a `work` folder a search that was killed,
    or ended by its limits, is resumed, and so is a playoff. If too few rows are unseen, `facility`
    chooses.
    """
    limits = _affordable(settings, len(problem.pool))
    final = limits.playoff
    if problem.previous is not None:  # nearly all rows are the previous ones
        final = final.model_copy(update={"sets": 1})
    trains = final.sets > 1 or bool(final.recipes)
    counts = {"fresh": final.fresh_rows if trains else 0}
    free = _of_length(problem, limits.length_quantiles)
    if row_counts(len(free), limits, **counts).exam < limits.fewest_rows:
        return _without_exam(problem, settings, len(free))
    counts["searches"] = max(1, final.sets)
    drawn = draw_rows(free, problem.relations, limits, settings.seed, **counts)
    if len(drawn.exam[0]) < limits.fewest_rows:
        return _without_exam(problem, settings, len(drawn.exam[0]))
    if settings.coupling.by is not None:
        _logger.warning(
            "coupling.by is %r: it acts on the rows that the search of `exam` starts from, and not "
            "on its swaps, which follow the loss of the surrogate models alone.",
            settings.coupling.by,
        )
    greedy = settings.model_copy(update={"refine": False})
    started = EachClass(facility, can_begin=True)(problem, greedy)
    if problem.previous is not None:
        # One pass over the positions, with as many swaps as rows may still be replaced.
        swaps = settings.replaceable(started.rows, problem.previous)
        few = {"max_swaps": swaps, "max_sweeps": 1, "schedule": "fixed"}
        limits = limits.model_copy(update=few)
    corpus = replace(problem.corpus, weights=problem.weights)
    validation = _in_memory(_at_same_mass(corpus.take(drawn.validation), problem))
    tfidf = fitted_tfidf(corpus.texts)
    tasks = [
        ExamTask(
            pool=_in_memory(problem.pool),
            exam=_in_memory(_at_same_mass(corpus.take(rows), problem)),
            validation=validation,
            start=_by_class(started.rows, problem),
            train_texts=corpus.texts,
            seed=settings.seed + number,
            tfidf=tfidf,
        )
        for number, rows in enumerate(drawn.exam)
    ]
    results = [_searched(task, limits, work) for task in tasks]
    winner, decided = 0, None
    if trains:
        fresh = problem.corpus.take(drawn.fresh)
        decided = _decided(results, problem, validation, fresh, final, work)
        winner = decided.winner
    if work is not None and all(result.found.is_done for result in results):
        clear_states(work)
    result = results[winner]
    _log(result)
    lines: list[list[float]] = result.found.history.tolist()
    steps = tuple(dict(zip(HISTORY_COLUMNS, line, strict=True)) for line in lines)
    diagnostics = _diagnostics(tasks[winner], result, started)
    rows = np.concatenate(result.rows)
    return Selection(rows, diagnostics, steps, started.paths, decided)


def _of_length(problem: SelectionProblem, quantiles: tuple[float, float]) -> Int64:
    """The unseen rows whose length in characters is within these quantiles of them."""
    if quantiles == (0.0, 1.0):
        return problem.unseen
    lengths = text_lengths(problem.corpus.texts)[problem.unseen]
    low, high = np.quantile(lengths, quantiles)
    kept: Int64 = problem.unseen[(low <= lengths) & (lengths <= high)]
    return kept


def _decided(
    results: Sequence[ExamResult],
    problem: SelectionProblem,
    validation: LabelledRows,
    fresh: LabelledRows,
    settings: PlayoffSettings,
    work: Path | None,
) -> Playoff:
    """The playoff between the rows of several searches, and recipes tried on the chosen ones."""
    shared, pairs = Shared(), len(validation.texts) == 2
    learners: dict[str, Learner] = {}
    for name in (*settings.learners, *settings.recipes):
        own = f"siamese_{name}" if pairs and name == "char_lr" else name
        learners[name] = make_learner(DEFAULTS[own], shared)
    sets = []
    for result in results:
        rows = problem.pool.take(np.concatenate(result.rows))
        sets.append(TrainingRows(Texts.of(*rows.texts), rows.labels, len(problem.budgets)))
    # Rows of a class count as much as the class; κ would favour rows that are easy for a probe.
    even = _at_same_mass(replace(validation, weights=None), problem)
    part = np.sort(rng(0, "playoff rows").permutation(len(even))[: settings.validation_rows])
    begun = time.perf_counter()
    decided = playoff(sets, Trainers(learners, even.take(part), fresh), settings, work)
    for learner in decided.learners:
        _logger.info(
            "Playoff of %d sets, %s: the chosen set has %.1f %% on validation rows and %.1f %% on "
            "fresh rows (all sets: %.1f %%, %.1f %%).",
            len(sets),
            learner,
            *(
                100 * decided.mean(figure, number, learner)
                for number in (decided.winner, None)
                for figure in ("accuracy", "fresh_accuracy")
            ),
        )
    if decided.recipe:
        _logger.info(
            "Of %d recipes for training on the rows, %s is best on validation rows of the training "
            "split: %.1f %%, and %.1f %% on fresh rows.",
            len(decided.recipes),
            decided.recipe.learner,
            100 * decided.recipe.accuracy,
            100 * decided.recipe.fresh_accuracy,
        )
    trained, seconds = len(decided.trials) + len(decided.recipes), time.perf_counter() - begun
    _logger.info("Learners were trained on the rows %d times, in %.0f s.", trained, seconds)
    return decided


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
