"""Select rows by the loss of models trained on them (METHOD §3; Eq. 1 itself, not a proxy).

The paper relaxes its goal, Eq. 1, to distribution matching, because training on S and testing on D
is intractable for text. For models in closed form it is not: with a set P of surrogate models,

    L(S) = 1/|P| Σ_{ℓ∈P} Σ_n w_n CE(f_ℓ,S(x_n) / τ_ℓ, y_n)

is minimised directly, by swaps from a given start, with the start's number of rows in each class.
The *exam rows* are the training rows n of that sum: the rows the surrogates are scored on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from take.engine.threads import one_thread
from take.errors import InputError
from take.rows.arrays import Float64, Int64
from take.rows.labelled import LabelledRows
from take.rows.random import rng
from take.selection.exam.search import (
    VALIDATION_ACCURACY,
    VALIDATION_LOSS,
    ExamProblem,
    SearchResult,
    SearchState,
    begin,
    search,
)
from take.selection.exam.surrogates import (
    Pool,
    Score,
    ScoredRows,
    Surrogate,
    independent_accuracies,
    views_of,
)
from take.selection.exam.views import Viewer, Views, fitted_tfidf, make_viewer
from take.selection.selection_settings import ExamSettings
from take.text.related import RelatedRows

SAME_LOSS = 1e-6


class StaleStateError(InputError):
    """A saved state that was not made by this search."""


@dataclass(frozen=True)
class ExamTask:
    """Candidates, the start, and the training rows to score on; refused if they do not fit."""

    pool: LabelledRows
    exam: LabelledRows  # training rows, never of the evaluation split: see `draw_rows`
    validation: LabelledRows  # other training rows
    start: Sequence[Int64]  # pool rows of each class; their number is its budget
    train_texts: Sequence[Sequence[str]]  # for the vocabulary and idf of TF-IDF
    seed: int = 0
    tfidf: Any = None  # `fitted_tfidf` of `train_texts`, to fit it once for several tasks

    def __post_init__(self) -> None:
        for name in ("pool", "exam", "validation"):
            _check_rows(getattr(self, name), name, len(self.start))
        _check_start(self.start, self.pool.labels)


@dataclass(frozen=True)
class ExamResult:
    """The rows chosen, and scores before and after the search."""

    rows: tuple[Int64, ...]  # K_c rows of the pool for each class
    surrogates: tuple[Surrogate, ...]  # as calibrated for the rows chosen
    before: Score  # of the surrogates on the validation rows, with the start
    after: Score  # with the rows chosen
    independent_before: dict[str, float]  # accuracies of other models on the validation rows
    independent_after: dict[str, float]
    found: SearchResult  # its `history` has exam and validation loss of each sweep


class RowCounts(NamedTuple):
    """Numbers of rows."""

    exam: int
    validation: int
    fresh: int = 0


class DrawnRows(NamedTuple):
    """Training rows to score on; no row of one kind is related to a row of another."""

    exam: tuple[
        Int64, ...
    ]  # those of each search: the same number of the same rows, or drawn again
    validation: Int64
    fresh: Int64  # for what a playoff reports


def row_counts(n_free: int, settings: ExamSettings, fresh: int = 0) -> RowCounts:
    """As many as the settings say; with fewer training rows all shrink in proportion.

    Fresh rows decide nothing, so they are at most a quarter of the validation rows.

    >>> row_counts(24, ExamSettings(exam_rows=20, validation_rows=10))
    RowCounts(exam=16, validation=8, fresh=0)
    >>> row_counts(24, ExamSettings(exam_rows=20, validation_rows=10), fresh=500)
    RowCounts(exam=15, validation=7, fresh=1)
    """
    fresh = min(fresh, max(1, settings.validation_rows // 4))
    wanted = settings.exam_rows, settings.validation_rows, fresh
    share = min(1.0, n_free / sum(wanted))
    exam, validation, some = (int(count * share) for count in wanted)
    return RowCounts(exam, validation, max(some, min(1, fresh)))


def draw_rows(
    free: Int64,
    related: RelatedRows,
    settings: ExamSettings,
    seed: int = 0,
    *,
    fresh: int = 0,
    searches: int = 1,
) -> DrawnRows:
    """Draw exam, validation and fresh rows from `free`: rows the language model did not read.

    No row of one kind contains a row of another, lies in one, or nearly repeats one
    (`RelatedRows`). Each search has its own draw of exam rows.

    >>> related = RelatedRows([(f"film {n}",) for n in range(30)])
    >>> rows = draw_rows(np.arange(6, 30), related, ExamSettings(exam_rows=20, validation_rows=10))
    >>> len(rows.exam[0]), len(rows.validation), int(min(rows.exam[0].min(), *rows.validation)) >= 6
    (16, 8, True)
    """
    n_exam, n_validation, n_fresh = row_counts(len(free), settings, fresh)
    if n_exam < settings.parts or n_validation < 1:
        raise InputError(
            f"{len(free)} training rows are left for the exam",
            where="exam",
            allowed=f"enough for {settings.parts} parts and a validation row",
            remedy="use another selector for a corpus this small",
        )
    order = rng(seed, "exam rows").permutation(free[~related.common[free]])
    validation, rest = order[:n_validation], order[n_validation:]
    rest = rest[~related.to(validation)[rest]]
    fresh_rows, rest = rest[:n_fresh], rest[n_fresh:]
    if n_fresh:
        rest = rest[~related.to(fresh_rows)[rest]]
    draws = (
        rest if search == 0 else rng(seed, "exam rows", search).permutation(rest)
        for search in range(searches)
    )
    exam = tuple(np.sort(draw[:n_exam]) for draw in draws)
    return DrawnRows(exam, np.sort(validation), np.sort(fresh_rows))


@one_thread()  # else the last digits, and at times the rows, depend on the cores
def best_rows(
    task: ExamTask,
    settings: ExamSettings,
    state: SearchState | None = None,
    on_sweep: Callable[[SearchState], None] | None = None,
) -> ExamResult:
    """Better training rows than the start.

    `state` resumes a search that `on_sweep` saved, given the same task and settings. The result is
    never worse than the start on the validation rows, whose lowest loss chooses the sweep kept.

    >>> from take.rows.blocks import ArrayBlocks
    >>> rng = np.random.default_rng(0)
    >>> def rows(n):
    ...     labels = np.arange(n) % 2
    ...     phi = rng.standard_normal((n, 4)) + labels[:, None] - 0.5
    ...     phi /= np.linalg.norm(phi, axis=1, keepdims=True)
    ...     texts = [("dull" if y == 0 else "grand") + f" film {i}" for i, y in enumerate(labels)]
    ...     return LabelledRows(ArrayBlocks(phi.astype(np.float32)), [texts], labels)
    >>> exam, start = rows(200), [np.array([0, 2]), np.array([1, 3])]
    >>> task = ExamTask(rows(60), exam, rows(200), start, exam.texts)
    >>> result = best_rows(task, ExamSettings())
    >>> [len(chosen) for chosen in result.rows], result.after.loss < result.before.loss
    ([2, 2], True)
    """
    n_classes = len(task.start)
    order = np.argsort(task.pool.labels, kind="stable")  # each class must be contiguous
    start = np.argsort(order)[np.concatenate(list(task.start))]
    exam_phi = task.exam.phi.read(0, len(task.exam))
    tfidf = task.tfidf or fitted_tfidf(task.train_texts)
    view = make_viewer(tfidf, exam_phi.mean(axis=0), views_of(settings.surrogates))
    pool = Pool(_views(view, task.pool).take(order), task.pool.labels[order], n_classes)
    exam, validation = _scored(view, task.exam), _scored(view, task.validation)
    ridges = settings.ridge_grid
    surrogates = tuple(Surrogate(name, ridges[0]) for name in settings.surrogates)
    problem = ExamProblem(surrogates, pool, exam, validation, task.seed, ridges)
    first = begin(problem, start)
    _check_state(state, first)
    found = search(problem, state or first, settings, on_sweep)
    labels = pool.labels[found.rows]
    return ExamResult(
        rows=tuple(order[found.rows[labels == label]] for label in range(n_classes)),
        surrogates=problem.calibrated(found.rows, exam),
        before=_validation_score(found.history[0]),
        after=_validation_score(found.history[found.history[:, VALIDATION_LOSS].argmin()]),
        independent_before=independent_accuracies(pool, start, validation),
        independent_after=independent_accuracies(pool, found.rows, validation),
        found=found,
    )


def _views(view: Viewer, rows: LabelledRows) -> Views:
    return view(rows.phi.read(0, len(rows)), rows.texts)


def _scored(view: Viewer, rows: LabelledRows) -> ScoredRows:
    return ScoredRows(_views(view, rows), rows.labels, rows.shares)


def _validation_score(line: Float64) -> Score:
    return Score(float(line[VALIDATION_LOSS]), float(line[VALIDATION_ACCURACY]))


def _check_rows(rows: LabelledRows, name: str, n_classes: int) -> None:
    """Refuse what models cannot be scored on."""
    n_rows, n_texts = rows.phi.shape[0], {len(column) for column in rows.texts}
    where = f"exam, {name} rows"
    if not n_rows or n_texts != {n_rows} or rows.labels.shape != (n_rows,):
        raise InputError(
            f"{n_rows} vectors, {sorted(n_texts)} texts and labels {rows.labels.shape}",
            where=where,
            allowed="one text and one label for each of one vector or more",
            remedy="take all three from the same table",
        )
    unknown = rows.labels[(rows.labels < 0) | (rows.labels >= n_classes)]
    if len(unknown) or not np.isfinite(rows.phi.read(0, n_rows)).all():
        raise InputError(
            f"label {unknown[0]}" if len(unknown) else "a vector is not finite",
            where=where,
            allowed=f"labels 0 … {n_classes - 1} and finite vectors",
            remedy="check the labels and the embeddings",
        )
    w = rows.weights
    if w is not None and not (w.shape == (n_rows,) and (w >= 0).all() and 0 < w.sum() < np.inf):
        raise InputError(
            f"weights of shape {w.shape} and sum {w.sum():g}",
            where=where,
            allowed=f"({n_rows},) finite weights ≥ 0, one of them positive",
            remedy="check the scores",
        )


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
    changed = abs(state.history[0, VALIDATION_LOSS] - first.history[0, VALIDATION_LOSS])
    if state.rows.shape != first.rows.shape or changed > SAME_LOSS:
        raise StaleStateError(
            "the saved state was made from other rows, another start or other settings",
            where="exam",
            allowed="a state of this search",
            remedy="remove it to begin again",
        )
