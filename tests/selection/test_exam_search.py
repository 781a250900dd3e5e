from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from take.selection.exam.objective import cross_entropy, label_codes, target_codes
from take.selection.exam.search import ExamProblem, SearchState, begin, exam_part, search
from take.selection.exam.surrogates import Pool, ScoredRows, Surrogate, score
from take.selection.exam.swap_scorer import SwapScorer
from take.selection.exam.views import fitted_tfidf, make_viewer
from take.selection.selection_settings import ExamSettings

WORDS = [f"w{i:02d}" for i in range(40)]
SURROGATES = (Surrogate("phi", 1.0, 0.3), Surrogate("tfidf", 0.3, 0.5))


def make_problem(n_classes: int = 2, seed: int = 0, noise: bool = False) -> ExamProblem:
    """Classes that overlap, in vectors and in words; `noise` makes exam labels meaningless."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((n_classes, 12)) * 0.6
    viewer = make_viewer(fitted_tfidf([WORDS]), np.zeros(12, dtype=np.float32))

    def draw(n: int):
        labels = np.arange(n) % n_classes
        phi = centres[labels] + rng.standard_normal((n, 12))
        phi /= np.linalg.norm(phi, axis=1, keepdims=True)
        drawn = rng.integers(0, 40, size=(n, 6))
        drawn[:, 0] = labels * 3 + rng.integers(0, 3, size=n)
        texts = [" ".join(WORDS[i] for i in row) for row in drawn]
        return viewer(phi.astype(np.float32), [texts]), labels

    views, labels = draw(120)
    order = np.argsort(labels, kind="stable")
    parts = []
    for n in (160, 200):
        scored, scored_labels = draw(n)
        weights = rng.random(n)
        parts.append(ScoredRows(scored, scored_labels, weights / weights.sum()))
    if noise:
        parts[0] = replace(parts[0], labels=rng.permutation(parts[0].labels))
    pool = Pool(views.take(order), labels[order], n_classes)
    return ExamProblem(SURROGATES, pool, parts[0], parts[1])


def first_rows(problem: ExamProblem, k: int = 5) -> np.ndarray:
    starts = [problem.pool.candidates(c).start for c in range(problem.pool.n_classes)]
    return np.concatenate([np.arange(start, start + k) for start in starts])


def loss_of(problem: ExamProblem, rows: np.ndarray) -> float:
    """The objective from scratch: one plain solve per surrogate."""
    pool, exam = problem.pool, problem.exam
    targets, codes = target_codes(pool.n_classes), label_codes(exam.labels, pool.n_classes)
    losses = []
    for model in problem.surrogates:
        training = pool.views.take(rows)
        gram = model.gram(training, training).astype(np.float64)
        duals = np.linalg.solve(gram + model.ridge * np.eye(len(rows)), targets[pool.labels[rows]])
        scores = model.gram(exam.views, training) @ duals
        losses.append(cross_entropy(scores / model.temperature, codes, exam.weights))
    return float(np.mean(losses))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_best_swap_is_the_best_of_all_solves(n_classes):
    problem = make_problem(n_classes)
    rows = first_rows(problem)
    scorer = SwapScorer(SURROGATES, problem.pool, rows, problem.exam)
    assert scorer.loss == pytest.approx(loss_of(problem, rows), rel=1e-5)
    for slot in (0, 7):
        label = problem.pool.labels[rows[slot]]
        candidates = np.flatnonzero(problem.pool.labels == label)
        brute = {}
        for candidate in np.setdiff1d(candidates, rows):
            changed = rows.copy()
            changed[slot] = candidate
            brute[int(candidate)] = loss_of(problem, changed)
        row, loss = scorer.best_swap(slot, exact_candidates=1000)
        assert row == min(brute, key=brute.__getitem__)
        assert loss == pytest.approx(brute[row], rel=1e-4)


def test_the_screen_finds_the_best_swap():
    problem = make_problem(3)
    rows = first_rows(problem)
    scorer = SwapScorer(SURROGATES, problem.pool, rows, problem.exam)
    for slot in range(len(rows)):
        assert scorer.best_swap(slot, 6)[0] == scorer.best_swap(slot, 1000)[0]
    assert scorer.exact < scorer.screened


def test_each_swap_lowers_the_loss_and_the_updates_keep_it_true():
    problem = make_problem()
    scorer = SwapScorer(SURROGATES, problem.pool, first_rows(problem), problem.exam)
    losses = [scorer.loss]
    for slot in list(range(10)) * 3:
        row, loss = scorer.best_swap(slot, 20)
        if loss < scorer.loss - 1e-6:
            scorer.swap(slot, row)
            losses.append(scorer.loss)
            assert scorer.loss == pytest.approx(loss, rel=1e-5)
    assert len(losses) > 5
    assert (np.diff(losses) < 0).all()
    assert losses[-1] == pytest.approx(loss_of(problem, scorer.rows), rel=1e-4)


@pytest.mark.parametrize("schedule", ["growing", "fixed"])
def test_budgets_are_kept_and_no_row_is_taken_twice(schedule):
    problem = make_problem(3)
    start = first_rows(problem)
    found = search(problem, begin(problem, start), ExamSettings(schedule=schedule))
    assert np.bincount(problem.pool.labels[found.rows]).tolist() == [5, 5, 5]
    assert len(np.unique(found.rows)) == 15
    assert found.history[:, 4].min() < found.history[0, 4]
    assert score(SURROGATES, problem.pool, found.rows, problem.validation).loss == pytest.approx(
        found.history[:, 4].min()
    )


def test_a_fixed_exam_is_searched_to_a_local_optimum():
    problem = make_problem()
    options = ExamSettings(schedule="fixed", max_sweeps=50, patience=50)
    found = search(problem, begin(problem, first_rows(problem)), options)
    assert found.stopped == "converged"
    assert (np.diff(found.history[:, 3]) < 1e-8).all()  # an idle sweep trains again: rounding
    scorer = SwapScorer(SURROGATES, problem.pool, found.state.rows, problem.exam)
    for slot in range(10):
        assert scorer.best_swap(slot, 1000)[1] >= scorer.loss - options.min_gain


def test_the_same_search_twice_gives_the_same_rows():
    runs = [search(p, begin(p, first_rows(p)), ExamSettings()) for p in map(make_problem, (2, 2))]
    assert runs[0].rows.tolist() == runs[1].rows.tolist()
    assert (runs[0].history == runs[1].history).all()


@pytest.mark.parametrize(("killed_after", "max_swaps"), [(1, None), (2, None), (1, 12)])
def test_a_killed_search_resumes_to_the_same_rows(killed_after, max_swaps):
    problem = make_problem()
    options = ExamSettings(max_sweeps=5, patience=5, max_swaps=max_swaps)
    whole = search(problem, begin(problem, first_rows(problem)), options)
    saved: list[SearchState] = []

    def kill(state: SearchState) -> None:
        saved.append(state)
        if len(saved) == killed_after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search(problem, begin(problem, first_rows(problem)), options, kill)
    resumed = search(problem, saved[-1], options)
    assert whole.state.sweep > killed_after or max_swaps
    assert resumed.rows.tolist() == whole.rows.tolist()
    assert (resumed.history == whole.history).all()
    assert resumed.stopped == whole.stopped


def test_validation_rows_stop_a_search_that_overfits_its_exam_rows():
    problem = make_problem(noise=True)
    start = first_rows(problem)
    options = ExamSettings(schedule="fixed", patience=2, max_sweeps=50, min_gain=0)
    found = search(problem, begin(problem, start), options)
    exam, validation = found.history[:, 3], found.history[:, 4]
    assert found.stopped == "validation"
    assert exam[-1] < exam[0] - 0.02
    assert validation[-1] > validation[0]
    assert found.rows.tolist() == start.tolist()


def test_limits_on_swaps_and_time_end_the_search():
    problem = make_problem()
    state = begin(problem, first_rows(problem))
    few = search(problem, state, ExamSettings(max_swaps=3))
    assert few.stopped == "swaps"
    assert few.history[:, 1].sum() == 3
    none = search(problem, state, ExamSettings(max_seconds=0))
    assert none.stopped == "seconds"
    assert none.rows.tolist() == state.rows.tolist()
    assert search(problem, state, ExamSettings(max_sweeps=0)).stopped == "sweeps"


def test_an_unfinished_sweep_is_not_the_state_to_resume_from():
    problem = make_problem()
    found = search(problem, begin(problem, first_rows(problem)), ExamSettings(max_swaps=3))
    assert found.state.sweep == 0
    assert len(found.history) == 2


def test_growing_exams_are_nested():
    growing = ExamSettings(parts=4)
    parts = [exam_part(100, sweep, growing) for sweep in (1, 2, 3)]
    assert [len(part) for part in parts] == [25, 50, 100]
    assert np.isin(parts[0], parts[1]).all()
