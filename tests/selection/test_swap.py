from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from take.selection.selection_settings import SelectionSettings
from take.selection.swap import EntropicSwaps, swap
from take.transport.sinkhorn import entropic_plan
from tests.selection.conftest import make_problem

SETTINGS = SelectionSettings(epsilon=0.1, swap_patience=1000)


def value(problem, rows) -> float:
    targets = problem.pool[np.array(rows)]
    return entropic_plan(problem.corpus, problem.weights, targets, epsilon=0.1).value


@pytest.mark.parametrize("seed", range(4))
def test_no_swap_lowers_the_value_of_a_proven_set(seed):
    problem = make_problem(80, 12, 3, 5, seed)
    found = swap(problem, SETTINGS, 0)
    assert found.diagnostics["proven"] == 1
    final = value(problem, found.rows)
    assert found.diagnostics["entropic_value"] == pytest.approx(final, rel=1e-4)
    assert final <= found.diagnostics["entropic_value_before"] + 1e-9
    for position in range(3):
        for candidate in set(range(12)) - set(found.rows.tolist()):
            other = found.rows.copy()
            other[position] = candidate
            assert value(problem, other) >= final * (1 - 1e-4)


def test_the_search_comes_near_the_best_subset():
    problem = make_problem(60, 9, 3, 5, 11)
    best = min(value(problem, rows) for rows in combinations(range(9), 3))
    assert swap(problem, SETTINGS, 0).diagnostics["entropic_value"] <= 1.02 * best


def test_the_bound_is_below_the_value_of_every_swap():
    problem = make_problem(80, 12, 4, 5, 2)
    rows = problem.corpus.read(0, 80)
    search = EntropicSwaps(rows, problem.weights, problem.pool, SETTINGS)
    search.start(np.array([0, 3, 5, 9]))
    seen = 0
    for position, candidate, bound in search._swaps_by_bound(search._pool_potentials()):
        other = search.chosen.copy()
        other[position] = candidate
        assert value(problem, other) >= search.plan.value + bound - 1e-5
        seen += 1
    assert seen == 4 * 8


def test_a_large_corpus_is_drawn_and_patience_ends_the_search():
    problem = make_problem(500, 40, 5)
    settings = SelectionSettings(swap_rows=100, swap_patience=1)
    found = swap(problem, settings, 3)
    assert found.diagnostics["sampled_rows"] <= 100
    assert len(set(found.rows.tolist())) == 5
