"""Choosing rows by how well learners taught with them do (METHOD §3; Eq. 1, not a proxy).

The paper relaxes its goal, Eq. 1, to distribution matching, because to train on S and test on D
is intractable for text. For learners in closed form it is not: over a panel of them,

    L(S) = 1/|panel| Σ_ℓ Σ_n w_n CE(f_ℓ,S(x_n) / τ_ℓ, y_n)  +  β Σ_n w_n min_c C_nc,

is minimised itself, by swaps from a given start, class by class with the start's budgets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from take.errors import InputError
from take.rows.arrays import Float32, Float64, Int64
from take.rows.random import rng
from take.selection.exam.outside import OutsideMark, outside_marks
from take.selection.exam.panel import Member, Viewer, Views, make_viewer
from take.selection.exam.search import (
    ExamProblem,
    SearchResult,
    SearchState,
    begin,
    search,
)
from take.selection.exam.settings import ExamSettings
from take.selection.exam.sitting import Asked, Mark, Pool

SAME_LOSS = 1e-6


class StaleStateError(InputError):
    """A saved state that was not made by this search."""


@dataclass(frozen=True)
class ExamRows:
    """Labelled rows: sentence vectors, texts, labels and weights."""

    phi: Float32  # (n, d) unit vectors
    texts: Sequence[Sequence[str]]  # one column, or two for pairs
    labels: Int64  # (n,) 0 … C−1
    weights: Float64 | None = None  # (n,) κ weights; None counts every row alike

    def check(self, name: str, n_classes: int) -> None:
        """Refuse what cannot be marked."""
        n_rows, weights = len(self.phi), self.weights
        n_texts = {len(column) for column in self.texts}
        if not n_rows or n_texts != {n_rows} or self.labels.shape != (n_rows,):
            raise InputError(
                f"{n_rows} vectors, {sorted(n_texts)} texts and labels {self.labels.shape}",
                where=f"exam, {name} rows",
                allowed="one text and one label for each of one vector or more",
                remedy="take all three from the same table",
            )
        outside = self.labels[(self.labels < 0) | (self.labels >= n_classes)]
        if len(outside) or not np.isfinite(self.phi).all():
            raise InputError(
                f"label {outside[0]}" if len(outside) else "a vector is not finite",
                where=f"exam, {name} rows",
                allowed=f"labels 0 … {n_classes - 1} and finite vectors",
                remedy="check the labels and the embeddings",
            )
        if weights is not None and not (
            weights.shape == (n_rows,) and (weights >= 0).all() and 0 < weights.sum() < np.inf
        ):
            raise InputError(
                f"weights of shape {weights.shape} and sum {weights.sum():g}",
                where=f"exam, {name} rows",
                allowed=f"({n_rows},) finite weights ≥ 0, one of them positive",
                remedy="check the scores",
            )


@dataclass(frozen=True)
class ExamTask:
    """What to choose from, where to begin, and the train rows to mark on."""

    pool: ExamRows
    examined: ExamRows  # train rows, never of the evaluation split: see `draw_parts`
    watched: ExamRows  # others
    start: Sequence[Int64]  # pool rows of each class; their number is its budget
    train_texts: Sequence[Sequence[str]]  # give TF-IDF its vocabulary and idf
    seed: int = 0

    def __post_init__(self) -> None:
        rows = {"pool": self.pool, "examined": self.examined, "watched": self.watched}
        for name, part in rows.items():
            part.check(name, len(self.start))
        _check_start(self.start, self.pool.labels)


@dataclass(frozen=True)
class Parts:
    """Train rows to mark on, and others to watch; they share none."""

    exam: Int64
    watched: Int64


@dataclass(frozen=True)
class ExamResult:
    """What was chosen, and how the panel did along the way."""

    rows: tuple[Int64, ...]  # K_c rows of the pool for each class
    panel: tuple[Member, ...]  # as fitted to the rows chosen
    before: Mark  # of the panel on the watched rows, with the start
    after: Mark  # with the rows chosen
    outside_before: tuple[OutsideMark, ...]  # learners that did not steer, on the watched rows
    outside_after: tuple[OutsideMark, ...]
    found: SearchResult  # its `history` has exam and watched loss of each sweep


class PartSizes(NamedTuple):
    """How many rows each part has."""

    exam: int
    watched: int


def part_sizes(n_free: int, settings: ExamSettings) -> PartSizes:
    """As many as are wanted; where train is short both parts shrink alike.

    >>> part_sizes(24, ExamSettings(exam_rows=20, watched_rows=10))
    PartSizes(exam=16, watched=8)
    """
    share = min(1.0, n_free / (settings.exam_rows + settings.watched_rows))
    return PartSizes(int(settings.exam_rows * share), int(settings.watched_rows * share))


def draw_parts(free: Int64, settings: ExamSettings, seed: int = 0) -> Parts:
    """Draw exam and watched rows from the `free` train rows: those the pool was not learnt from.

    >>> parts = draw_parts(np.arange(6, 30), ExamSettings(exam_rows=20, watched_rows=10))
    >>> len(parts.exam), len(parts.watched), int(min(parts.exam.min(), parts.watched.min())) >= 6
    (16, 8, True)
    """
    n_exam, n_watched = part_sizes(len(free), settings)
    if n_exam < settings.parts or n_watched < 1:
        raise InputError(
            f"{len(free)} train rows are left for the exam",
            where="exam",
            allowed=f"enough for {settings.parts} parts and a watched row",
            remedy="use another selector for a corpus this small",
        )
    order = rng(seed, "exam rows").permutation(free)
    return Parts(np.sort(order[:n_exam]), np.sort(order[n_exam : n_exam + n_watched]))


def best_taught(
    task: ExamTask,
    settings: ExamSettings,
    state: SearchState | None = None,
    on_sweep: Callable[[SearchState], None] | None = None,
) -> ExamResult:
    """Better rows than the start, for learners that are taught with them.

    `state` goes on with a search that `on_sweep` saw, given the same task and settings. The result
    is never worse than the start on the watched rows, whose lowest loss chooses the sweep kept.

    >>> rng = np.random.default_rng(0)
    >>> def rows(n):
    ...     labels = np.arange(n) % 2
    ...     phi = rng.standard_normal((n, 4)) + labels[:, None] - 0.5
    ...     phi /= np.linalg.norm(phi, axis=1, keepdims=True)
    ...     texts = [("dull" if y == 0 else "grand") + f" film {i}" for i, y in enumerate(labels)]
    ...     return ExamRows(phi.astype(np.float32), [texts], labels)
    >>> examined, start = rows(200), [np.array([0, 2]), np.array([1, 3])]
    >>> task = ExamTask(rows(60), examined, rows(200), start, examined.texts)
    >>> result = best_taught(task, ExamSettings())
    >>> [len(chosen) for chosen in result.rows], result.after.loss < result.before.loss
    ([2, 2], True)
    """
    n_classes = len(task.start)
    order = np.argsort(task.pool.labels, kind="stable")  # the search wants classes in one piece
    start = np.argsort(order)[np.concatenate(list(task.start))]
    view = make_viewer(task.train_texts, task.examined.phi.mean(axis=0))
    pool = Pool(_views(view, task.pool).take(order), task.pool.labels[order], n_classes)
    asked = _asked(task.examined, _views(view, task.examined))
    watched = _asked(task.watched, _views(view, task.watched))
    ridges = settings.ridge_grid if settings.ridge is None else (settings.ridge,)
    panel = tuple(Member(name, ridges[0], 1.0) for name in settings.members)
    problem = ExamProblem(panel, pool, asked, watched, task.seed, ridges)
    first = begin(problem, start)
    _check_state(state, first)
    found = search(problem, state or first, settings, on_sweep)
    labels = pool.labels[found.rows]
    return ExamResult(
        rows=tuple(order[found.rows[labels == label]] for label in range(n_classes)),
        panel=problem.fitted(found.rows, asked),
        before=_marked(found.history[0]),
        after=_marked(found.history[found.history[:, 4].argmin()]),
        outside_before=outside_marks(pool, start, watched),
        outside_after=outside_marks(pool, found.rows, watched),
        found=found,
    )


def _views(view: Viewer, rows: ExamRows) -> Views:
    return view(rows.phi, rows.texts)


def _asked(rows: ExamRows, views: Views) -> Asked:
    weights = np.ones(len(rows.phi)) if rows.weights is None else rows.weights
    return Asked(views, rows.labels, weights / weights.sum())


def _marked(line: Float64) -> Mark:
    """What a line of the history says of the watched rows."""
    return Mark(loss=float(line[4]), accuracy=float(line[5]))


def _check_start(start: Sequence[Int64], labels: Int64) -> None:
    for label, rows in enumerate(start):
        known = (rows >= 0) & (rows < len(labels))
        if not known.all() or (labels[rows] != label).any() or len(np.unique(rows)) < len(rows):
            raise InputError(
                f"the start of class {label} is not {len(rows)} different candidates of it",
                where="exam",
                allowed=f"row numbers of the pool ({len(labels)} rows) with that label, each once",
                remedy="give the rows that another selector chose from this pool",
            )
    if sum(len(rows) > 0 for rows in start) < 2:
        raise InputError(
            "the start has rows of fewer than two classes",
            where="exam",
            allowed="two classes or more with a row each",
            remedy="raise the budget, or use another selector",
        )


def _check_state(state: SearchState | None, first: SearchState) -> None:
    if state is None:
        return
    same = state.rows.shape == first.rows.shape
    if not same or abs(state.history[0, 4] - first.history[0, 4]) > SAME_LOSS:
        raise StaleStateError(
            "the saved state was made from other rows, start or settings",
            where="exam",
            allowed="a state of this very search",
            remedy="remove it to begin anew",
        )
