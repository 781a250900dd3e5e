"""The rank-one algebra against a fresh solve for every candidate."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from take.selection.exam.objective import target_codes
from take.selection.exam.swap_scorer import FittedModel, fit, leave_one_out, swap


class Case:
    """A pool of M rows in two or three classes, E exam rows, K training rows."""

    def __init__(self, seed: int, n_classes: int, ridge: float, k: int = 7) -> None:
        rng = np.random.default_rng(seed)
        self.ridge, self.codes = ridge, target_codes(n_classes)
        self.labels = np.sort(rng.integers(0, n_classes, size=30))
        pool, exam = rng.standard_normal((30, 5)), rng.standard_normal((11, 5))
        self.pool_gram = (pool @ pool.T + 1).astype(np.float32)
        self.exam_gram = (pool @ exam.T + 1).astype(np.float32)
        self.rows = rng.choice(30, k, replace=False)

    def fitted(self, rows: np.ndarray) -> FittedModel:
        return fit(
            self.exam_gram,
            self.pool_gram[rows],
            np.diag(self.pool_gram).astype(np.float64),
            self.codes[self.labels[rows]],
            rows,
            self.ridge,
        )

    def solved(self, rows: np.ndarray) -> np.ndarray:
        """Exam scores by a plain solve."""
        gram = self.pool_gram[np.ix_(rows, rows)].astype(np.float64)
        duals = np.linalg.solve(
            gram + self.ridge * np.eye(len(rows)), self.codes[self.labels[rows]]
        )
        return self.exam_gram[rows].T @ duals

    def swap(self, model: FittedModel, rows: np.ndarray, slot: int, row: int) -> np.ndarray:
        column = self.pool_gram[row]
        training = column[rows].astype(np.float64)
        target = self.codes[self.labels[row]]
        swap(model, slot, row, training, self.exam_gram[row], column, target)
        changed = rows.copy()
        changed[slot] = row
        return changed


cases = st.builds(
    Case, st.integers(0, 10_000), st.sampled_from([2, 3, 5]), st.sampled_from([0.05, 1.0, 10.0])
)


@given(case=cases)
@settings(max_examples=30, deadline=None)
def test_fitted_scores_are_those_of_a_plain_solve(case):
    expected = case.solved(case.rows)
    np.testing.assert_allclose(case.fitted(case.rows).exam_scores, expected, rtol=1e-4, atol=1e-6)


@given(case=cases, slot=st.integers(0, 6))
@settings(max_examples=30, deadline=None)
def test_every_candidate_in_place_of_a_row_left_out_scores_as_a_plain_solve(case, slot):
    target = case.codes[0]
    candidates = slice(0, int((case.labels == 0).sum()))
    left_out = leave_one_out(case.fitted(case.rows), slot, candidates, target)
    moves = left_out.moves.of(np.arange(candidates.stop))
    for candidate in range(candidates.stop):
        if candidate in np.delete(case.rows, slot):
            continue
        changed = case.rows.copy()
        changed[slot] = candidate
        scores = left_out.scores + np.outer(moves[candidate], left_out.steps[candidate])
        expected = case.solved(changed)
        scale = np.abs(expected).max()
        np.testing.assert_allclose(scores / scale, expected / scale, rtol=1e-4, atol=1e-4)


def test_a_row_put_back_changes_nothing():
    case = Case(3, 2, 0.1)
    model = case.fitted(case.rows)
    left_out = leave_one_out(model, 2, slice(0, 30), case.codes[case.labels[case.rows[2]]])
    own = case.rows[2]
    back = left_out.scores + np.outer(left_out.moves.of(np.array([own]))[0], left_out.steps[own])
    np.testing.assert_allclose(back, model.exam_scores, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_after_forty_swaps_everything_is_as_fitted_again(n_classes):
    case = Case(5, n_classes, ridge=0.5)
    rng = np.random.default_rng(0)
    rows, model = case.rows, case.fitted(case.rows)
    for _ in range(40):
        row = int(rng.choice(np.setdiff1d(np.arange(30), rows)))
        rows = case.swap(model, rows, int(rng.integers(7)), row)
    fresh = case.fitted(rows)
    for name in FittedModel.__dataclass_fields__:
        updated, expected = getattr(model, name), getattr(fresh, name)
        scale = np.abs(expected).max()
        np.testing.assert_allclose(updated / scale, expected / scale, atol=1e-4, err_msg=name)
