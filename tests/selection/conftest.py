"""Small problems on the unit sphere, and a brute-force answer to compare with."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from take.rows.blocks import ArrayBlocks
from take.selection.problem import ClassProblem, LabelledRows, SelectionProblem


def unit_rows(count: int, n_features: int, rng: np.random.Generator) -> NDArray[np.float32]:
    centres = np.random.default_rng(99).standard_normal((5, n_features))
    points = centres[rng.integers(0, 5, count)] + rng.standard_normal((count, n_features))
    return (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32)


def make_problem(
    n_rows: int, n_candidates: int, budget: int, n_features: int = 8, seed: int = 0
) -> ClassProblem:
    rng = np.random.default_rng(seed)
    weights = rng.gamma(1.0, 1.0, n_rows)
    return ClassProblem(
        ArrayBlocks(unit_rows(n_rows, n_features, rng)),
        weights / weights.sum(),
        unit_rows(n_candidates, n_features, rng),
        budget,
    )


def labelled_rows(count: int, n_classes: int, rng: np.random.Generator) -> LabelledRows:
    """Classes that overlap in vectors and in words, in no order."""
    centres = np.random.default_rng(7).standard_normal((n_classes, 8)) * 0.6
    labels = np.arange(count) % n_classes
    points = centres[labels] + rng.standard_normal((count, 8))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    words = rng.integers(0, 40, size=(count, 6))
    words[:, 0] = labels * 3 + rng.integers(0, 3, size=count)
    texts = [" ".join(f"w{i:02d}" for i in row) for row in words]
    phi = ArrayBlocks(points.astype(np.float32))
    return LabelledRows(phi, [texts], labels)


def make_selection_problem(
    budgets: tuple[int, ...], scope: str = "class", n_rows: int = 400
) -> SelectionProblem:
    """Three classes, 20 candidates each; a larger corpus has the rows of a smaller one first."""
    corpus = labelled_rows(n_rows, 3, np.random.default_rng(1))
    pool = labelled_rows(60, 3, np.random.default_rng(2))
    weights = np.random.default_rng(3).gamma(1.0, 1.0, n_rows)
    return SelectionProblem(
        corpus, weights / weights.sum(), pool, budgets, np.arange(50, n_rows), scope
    )


def costs_of(problem: ClassProblem) -> NDArray[np.float64]:
    """The dense cost matrix in fp64."""
    rows = problem.corpus.read(0, problem.corpus.shape[0]).astype(np.float64)
    pool = problem.pool.astype(np.float64)
    return ((rows[:, None, :] - pool[None, :, :]) ** 2).sum(axis=2)


def free_cost(problem: ClassProblem, rows: NDArray[np.int64]) -> float:
    """Σ_n w_n min_{c∈S} C_nc."""
    return float(problem.weights @ costs_of(problem)[:, rows].min(axis=1))


def best_free_cost(problem: ClassProblem) -> float:
    """The least of all K-subsets."""
    costs, w = costs_of(problem), problem.weights
    subsets = combinations(range(len(problem.pool)), problem.budget)
    return min(float(w @ costs[:, list(subset)].min(axis=1)) for subset in subsets)


@pytest.fixture(scope="session")
def problem() -> ClassProblem:
    return make_problem(400, 60, 8)
