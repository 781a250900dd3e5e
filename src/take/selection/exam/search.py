"""The search: sweeps over all positions; each position takes its best swap.

It can be stopped after any position and returns the best rows so far, by the loss on validation
rows. It can be resumed: its whole state between sweeps is `SearchState`. Every sweep trains the
surrogates again and draws its exam rows by its own number, so a search that was killed and resumed
from its last whole sweep takes the same swaps as one that never stopped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from take.rows.arrays import Float64, Int64
from take.rows.random import rng
from take.selection.exam.surrogates import Pool, ScoredRows, Surrogate, calibrate, score
from take.selection.exam.swap_scorer import SwapScorer
from take.selection.selection_settings import ExamSettings

if TYPE_CHECKING:
    from tqdm import tqdm

HISTORY_COLUMNS = (
    "sweep",
    "swaps",
    "exam_loss_before",
    "exam_loss_after",
    "validation_loss",
    "validation_accuracy",
    "exam_rows",
)
SWAPS, VALIDATION_LOSS, VALIDATION_ACCURACY = 1, 4, 5  # of HISTORY_COLUMNS


@dataclass(frozen=True)
class SearchState:
    """The state after a whole sweep: all that the search needs to resume."""

    rows: Int64  # (K,) pool rows, a slot each
    best_rows: Int64  # (K,) those with the lowest validation loss so far
    history: Float64  # (sweeps + 1, 7) by HISTORY_COLUMNS; the first line is the start

    @property
    def sweep(self) -> int:
        """Whole sweeps done."""
        return len(self.history) - 1

    @property
    def swaps(self) -> int:
        """Swaps taken in all sweeps."""
        return int(self.history[:, SWAPS].sum())

    @property
    def best_sweep(self) -> int:
        """The sweep whose rows are kept; 0 is the start."""
        return int(np.argmin(self.history[:, VALIDATION_LOSS]))


@dataclass(frozen=True)
class SearchResult:
    """The rows found, the state to resume from, and the work done."""

    rows: Int64  # (K,)
    state: SearchState  # after the last whole sweep
    history: Float64  # that of the state, and the unfinished sweep where there is one
    stopped: str  # why: converged, validation, sweeps, swaps or seconds
    screened: int  # candidates ranked
    exact: int  # candidates scored exactly
    seconds: float

    @property
    def is_done(self) -> bool:
        """Whether higher limits would find nothing more."""
        return self.stopped in ("converged", "validation")


@dataclass(frozen=True)
class ExamProblem:
    """What is searched: candidates, surrogates, and the rows they are scored on."""

    surrogates: Sequence[Surrogate]
    pool: Pool
    exam: ScoredRows
    validation: ScoredRows
    seed: int = 0
    ridges: Sequence[float] = ()  # λ to fit in every sweep, and τ with it; none: keep both

    def calibrated(self, rows: Int64, scored: ScoredRows) -> tuple[Surrogate, ...]:
        """The surrogates with the λ and τ that fit these rows best.

        Better rows need less regularisation and support more confident predictions: surrogates
        calibrated for the start would score them too low.
        """
        if not self.ridges:
            return tuple(self.surrogates)
        training, labels = self.pool.views.take(rows), self.pool.labels[rows]
        return tuple(
            calibrate(s.name, self.ridges, training, labels, scored, self.pool.n_classes)
            for s in self.surrogates
        )


def exam_part(n_rows: int, sweep: int, settings: ExamSettings, seed: int = 0) -> Int64:
    """The exam rows of a sweep, 1, 2, …: all of them, or a growing part drawn by the seed.

    >>> growing = ExamSettings(exam_rows=40, parts=4)
    >>> [len(exam_part(40, sweep, growing)) for sweep in (1, 2, 3, 4)]
    [10, 20, 40, 40]
    """
    order = rng(seed, "exam parts").permutation(n_rows)
    if settings.schedule == "growing" and sweep <= settings.parts:
        parts = np.array_split(order, settings.parts)
        return np.sort(np.concatenate(parts[: 2 ** (sweep - 1)]))
    return np.sort(order)


def begin(problem: ExamProblem, start: Int64) -> SearchState:
    """The state before any sweep."""
    surrogates = problem.calibrated(start, problem.exam)
    validation = score(surrogates, problem.pool, start, problem.validation)
    exam = score(surrogates, problem.pool, start, problem.exam)
    n_rows = len(problem.exam.labels)
    line = [0, 0, exam.loss, exam.loss, validation.loss, validation.accuracy, n_rows]
    return SearchState(start.copy(), start.copy(), np.array([line], dtype=np.float64))


def search(
    problem: ExamProblem,
    state: SearchState,
    settings: ExamSettings,
    on_sweep: Callable[[SearchState], None] | None = None,
) -> SearchResult:
    """Search from `state` until no swap helps, the validation loss rises, or a limit is reached.

    `on_sweep` is called after each whole sweep, with a state to resume from.
    """
    from tqdm import tqdm

    limits = _Limits(settings, state.swaps)
    n_slots = len(state.rows)
    screened = exact = 0
    scorer: SwapScorer | None = None
    last = state
    bar = tqdm(
        total=settings.max_sweeps * n_slots,
        initial=state.sweep * n_slots,
        desc="exam",
        unit="position",
        disable=None,
    )
    with bar:
        while not _finished(state, settings):
            scorer = _scorer(problem, state, settings, scorer)
            last = _sweep(problem, state, scorer, settings, limits, bar)
            screened, exact = screened + scorer.screened, exact + scorer.exact
            if limits.reached:
                break
            state = last
            bar.set_postfix(
                swaps=state.swaps, validation=f"{state.history[-1, VALIDATION_LOSS]:.4f}"
            )
            if on_sweep:
                on_sweep(state)
    stopped = limits.reached or _finished(state, settings)
    return SearchResult(
        last.best_rows, state, last.history, stopped, screened, exact, limits.seconds
    )


class _Limits:
    """Limits on swaps and seconds."""

    def __init__(self, settings: ExamSettings, swaps: int) -> None:
        self._began = time.perf_counter()
        self._max_swaps, self._max_seconds = settings.max_swaps, settings.max_seconds
        self.swaps = swaps
        self.reached = ""

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._began

    @property
    def swaps_left(self) -> float:
        return np.inf if self._max_swaps is None else self._max_swaps - self.swaps

    def check(self) -> str:
        """The limit that is reached, or nothing."""
        if self._max_swaps is not None and self.swaps >= self._max_swaps:
            self.reached = "swaps"
        elif self._max_seconds is not None and self.seconds >= self._max_seconds:
            self.reached = "seconds"
        return self.reached


def _scorer(
    problem: ExamProblem, state: SearchState, settings: ExamSettings, before: SwapScorer | None
) -> SwapScorer:
    """The scorer of the next sweep; K_ME is reused where the exam rows stay the same."""
    n_rows = len(problem.exam.labels)
    part = exam_part(n_rows, state.sweep + 1, settings, problem.seed)
    same = before and np.array_equal(part, exam_part(n_rows, state.sweep, settings, problem.seed))
    exam = problem.exam.take(part)
    grams = before.grams if before and same else None
    surrogates = problem.calibrated(state.rows, exam)
    return SwapScorer(surrogates, problem.pool, state.rows, exam, grams)


def _sweep(
    problem: ExamProblem,
    state: SearchState,
    scorer: SwapScorer,
    settings: ExamSettings,
    limits: _Limits,
    bar: tqdm[NoReturn],
) -> SearchState:
    """The state after each position had its best swap, or after those the limits allowed."""
    before, swaps, sweep = scorer.loss, limits.swaps, state.sweep + 1
    # In a new order for each sweep, so that no position is always first.
    order = rng(problem.seed, "swap order", sweep).permutation(len(state.rows)).tolist()
    if limits.swaps_left < len(order):  # the few swaps allowed go where they lower the loss most
        losses = {slot: scorer.best_swap(slot, settings.exact_candidates)[1] for slot in order}
        order.sort(key=losses.__getitem__)
    for slot in order:
        if limits.check():
            break
        row, loss = scorer.best_swap(slot, settings.exact_candidates)
        if loss < scorer.loss - settings.min_gain:
            scorer.swap(slot, row)
            limits.swaps += 1
        bar.update()
    # Calibrated on all exam rows in every sweep, so that validation losses are comparable.
    surrogates = problem.calibrated(scorer.rows, problem.exam)
    validation = score(surrogates, problem.pool, scorer.rows, problem.validation)
    taken, n_rows = limits.swaps - swaps, scorer.exam_rows
    line = [sweep, taken, before, scorer.loss, validation.loss, validation.accuracy, n_rows]
    is_best = validation.loss < state.history[:, VALIDATION_LOSS].min()
    best_rows = scorer.rows if is_best else state.best_rows
    history = np.vstack([state.history, np.array(line, dtype=np.float64)])
    return SearchState(scorer.rows.copy(), best_rows.copy(), history)


def _finished(state: SearchState, settings: ExamSettings) -> str:
    """Why the search ends here, or nothing."""
    idle = state.sweep > 0 and not state.history[-1, SWAPS]
    grown = settings.schedule != "growing" or 2 ** (state.sweep - 1) >= settings.parts
    if grown and idle:
        return "converged"
    if state.sweep - state.best_sweep >= settings.patience:
        return "validation"
    if state.sweep >= settings.max_sweeps:
        return "sweeps"
    return ""
