"""The search: sweeps over all positions, each swap the best of a position, kept by watched rows.

Anytime: it may be stopped after any position, and the best rows so far are there. Resumable: its
whole memory between sweeps is `SearchState`, a handful of arrays. Every sweep teaches the panel
anew and draws its exam from its own number, so a search that was killed and goes on from the
state of its last whole sweep takes the same swaps as one that never stopped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from take.rows.arrays import Float64, Int64
from take.rows.random import rng
from take.selection.exam.objective import label_codes
from take.selection.exam.panel import Member, calibrate
from take.selection.exam.settings import ExamSettings
from take.selection.exam.sitting import Asked, Pool, Sitting, mark

if TYPE_CHECKING:
    from tqdm import tqdm

HISTORY_COLUMNS = (
    "sweep",
    "swaps",
    "exam_loss_before",
    "exam_loss_after",
    "watched_loss",
    "watched_accuracy",
    "exam_rows",
)


@dataclass(frozen=True)
class SearchState:
    """Where a search stands after a whole sweep; all that it needs to go on."""

    rows: Int64  # (K,) pool rows, a slot each
    best_rows: Int64  # (K,) those with the lowest watched loss so far
    history: Float64  # (sweeps + 1, 7) by HISTORY_COLUMNS; the first line is the start

    @property
    def sweep(self) -> int:
        """Whole sweeps done."""
        return len(self.history) - 1

    @property
    def swaps(self) -> int:
        """Swaps taken in all sweeps."""
        return int(self.history[:, 1].sum())

    @property
    def best_sweep(self) -> int:
        """The sweep whose rows are kept; 0 is the start."""
        return int(np.argmin(self.history[:, 4]))


@dataclass(frozen=True)
class SearchResult:
    """What a search found, the state to resume from, and what it cost."""

    rows: Int64  # (K,)
    state: SearchState  # after the last whole sweep
    history: Float64  # that of the state, and the unfinished sweep where there is one
    stopped: str  # why: converged, watched, sweeps, swaps or seconds
    screened: int  # candidates ranked
    exact: int  # candidates scored exactly
    seconds: float


@dataclass(frozen=True)
class ExamProblem:
    """What the search is given: who learns, from what, and on what it is marked."""

    panel: Sequence[Member]
    pool: Pool
    exam: Asked
    watched: Asked
    seed: int = 0
    ridges: Sequence[float] = ()  # λ to fit anew, and τ with it, in every sweep; none: never

    def fitted(self, rows: Int64, asked: Asked) -> tuple[Member, ...]:
        """The panel with the λ and τ that suit these rows best.

        Better rows bear less regularisation and surer answers: a panel that stays as it was for
        the start marks them down for it.
        """
        if not self.ridges:
            return tuple(self.panel)
        codes = label_codes(asked.labels, self.pool.n_classes)
        taught, labels = self.pool.views.take(rows), self.pool.labels[rows]
        return tuple(
            calibrate(m.name, self.ridges, taught, labels, asked.views, codes, asked.weights)
            for m in self.panel
        )


def exam_part(n_rows: int, sweep: int, settings: ExamSettings, seed: int = 0) -> Int64:
    """The exam rows of a sweep, 1, 2, …: the seed puts them in parts, the schedule picks some.

    >>> growing = ExamSettings(exam_rows=40, parts=4)
    >>> [len(exam_part(40, sweep, growing)) for sweep in (1, 2, 3, 4)]
    [10, 20, 40, 40]
    >>> rotating = ExamSettings(exam_rows=40, parts=2, schedule="rotating")
    >>> first, second, third = (exam_part(40, sweep, rotating) for sweep in (1, 2, 3))
    >>> np.intersect1d(first, second).size, bool((first == third).all())
    (0, True)
    """
    order = rng(seed, "exam parts").permutation(n_rows)
    parts = np.array_split(order, settings.parts)
    if settings.schedule == "rotating":
        return np.sort(parts[(sweep - 1) % settings.parts])
    if settings.schedule == "growing" and sweep <= settings.parts:
        return np.sort(np.concatenate(parts[: 2 ** (sweep - 1)]))
    return np.sort(order)


def begin(problem: ExamProblem, start: Int64) -> SearchState:
    """The state before any sweep."""
    panel = problem.fitted(start, problem.exam)
    watched = mark(panel, problem.pool, start, problem.watched)
    examined = mark(panel, problem.pool, start, problem.exam)
    n_rows = len(problem.exam.labels)
    line = [0, 0, examined.loss, examined.loss, watched.loss, watched.accuracy, n_rows]
    return SearchState(start.copy(), start.copy(), np.array([line], dtype=np.float64))


def search(
    problem: ExamProblem,
    state: SearchState,
    settings: ExamSettings,
    on_sweep: Callable[[SearchState], None] | None = None,
) -> SearchResult:
    """Go on from `state` until no swap helps, the watched rows object, or the budget ends.

    `on_sweep` is called after each whole sweep, with a state to resume from.
    """
    from tqdm import tqdm

    budget = _Budget(settings, state.swaps)
    n_slots = len(state.rows)
    screened = exact = 0
    sitting: Sitting | None = None
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
            sitting = _sit(problem, state, settings, sitting)
            last = _sweep(problem, state, sitting, settings, budget, bar)
            screened, exact = screened + sitting.screened, exact + sitting.exact
            if budget.spent:
                break
            state = last
            bar.set_postfix(swaps=state.swaps, watched=f"{state.history[-1, 4]:.4f}")
            if on_sweep:
                on_sweep(state)
    stopped = budget.spent or _finished(state, settings)
    return SearchResult(
        last.best_rows, state, last.history, stopped, screened, exact, budget.seconds
    )


class _Budget:
    """Swaps and seconds; once spent it stays spent."""

    def __init__(self, settings: ExamSettings, swaps: int) -> None:
        self._began = time.perf_counter()
        self._max_swaps, self._max_seconds = settings.max_swaps, settings.max_seconds
        self.swaps = swaps
        self.spent = ""

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._began

    @property
    def swaps_left(self) -> float:
        return np.inf if self._max_swaps is None else self._max_swaps - self.swaps

    def check(self) -> str:
        """What has run out, or nothing."""
        if self._max_swaps is not None and self.swaps >= self._max_swaps:
            self.spent = "swaps"
        elif self._max_seconds is not None and self.seconds >= self._max_seconds:
            self.spent = "seconds"
        return self.spent


def _sit(
    problem: ExamProblem, state: SearchState, settings: ExamSettings, before: Sitting | None
) -> Sitting:
    """The next sweep's sitting, taught anew; K_ME is kept where the exam rows stay the same."""
    n_rows = len(problem.exam.labels)
    part = exam_part(n_rows, state.sweep + 1, settings, problem.seed)
    same = before and np.array_equal(part, exam_part(n_rows, state.sweep, settings, problem.seed))
    asked = problem.exam.take(part)
    return Sitting(
        problem.fitted(state.rows, asked),
        problem.pool,
        state.rows,
        asked,
        settings.coverage,
        before.grams if before and same else None,
    )


def _sweep(
    problem: ExamProblem,
    state: SearchState,
    sitting: Sitting,
    settings: ExamSettings,
    budget: _Budget,
    bar: tqdm[NoReturn],
) -> SearchState:
    """The state after each position had its best swap, or after those the budget allowed."""
    before, swaps, sweep = sitting.loss, budget.swaps, state.sweep + 1
    order = _order(len(state.rows), sweep, problem.seed)
    if budget.swaps_left < len(order):
        order = _most_promising(order, sitting, settings)
    for slot in order:
        if budget.check():
            break
        row, loss = sitting.best_swap(slot, settings.exact_candidates)
        if loss < sitting.loss - settings.min_gain:
            sitting.swap(slot, row)
            budget.swaps += 1
        bar.update()
    # Fitted to all exam rows, as every line is: the watched losses are to be compared.
    panel = problem.fitted(sitting.rows, problem.exam)
    watched = mark(panel, problem.pool, sitting.rows, problem.watched)
    taken, n_rows = budget.swaps - swaps, sitting.exam_rows
    line = [sweep, taken, before, sitting.loss, watched.loss, watched.accuracy, n_rows]
    return _after(state, sitting.rows, np.array(line, dtype=np.float64))


def _most_promising(order: list[int], sitting: Sitting, settings: ExamSettings) -> list[int]:
    """Positions by what their best swap would give: where swaps are few, none is to be wasted."""
    losses = {slot: sitting.best_swap(slot, settings.exact_candidates)[1] for slot in order}
    return sorted(order, key=losses.__getitem__)


def _after(state: SearchState, rows: Int64, line: Float64) -> SearchState:
    better = line[4] < state.history[:, 4].min()
    best = rows if better else state.best_rows
    return SearchState(rows.copy(), best.copy(), np.vstack([state.history, line]))


def _finished(state: SearchState, settings: ExamSettings) -> str:
    """Why no further sweep is worth it, or nothing."""
    # Idle on one part is not idle on all: rotating must go round once.
    round_ = settings.parts if settings.schedule == "rotating" else 1
    idle = state.history[1:, 1][-round_:]
    grown = settings.schedule != "growing" or 2 ** (state.sweep - 1) >= settings.parts
    if grown and len(idle) == round_ and not idle.any():
        return "converged"
    if state.sweep - state.best_sweep >= settings.patience:
        return "watched"
    if state.sweep >= settings.max_sweeps:
        return "sweeps"
    return ""


def _order(n_slots: int, sweep: int, seed: int) -> list[int]:
    """Positions in an order of their own in each sweep, so that none is always served first."""
    order: list[int] = rng(seed, "swap order", sweep).permutation(n_slots).tolist()
    return order
