from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from take.rows.blocks import ArrayBlocks
from take.selection import facility as facility_module
from take.selection.facility import facility, greedy_path
from take.selection.facility_costs import FacilityCosts
from take.selection.facility_swaps import SwapSearch
from take.selection.selection_settings import SelectionSettings
from take.selection.selectors import random
from take.transport.costs import CostColumns
from tests.selection.conftest import best_free_cost, costs_of, free_cost, make_problem

GREEDY = SelectionSettings(refine=False, block_rows=64)
REFINED = SelectionSettings(block_rows=64)
LARGEST_COST = 4.0  # of unit vectors: s = 4 − C ≥ 0


def costs_held(problem, memory=2**20, block_rows=64):
    return FacilityCosts.of(
        problem.corpus, problem.weights, problem.pool, memory, block_rows=block_rows
    )


def plain_greedy(problem):
    """The definition, in fp64 on the dense matrix."""
    costs, nearest, rows = costs_of(problem), np.full(problem.corpus.shape[0], 4.0), []
    for _ in range(problem.budget):
        gains = problem.weights @ np.maximum(nearest[:, None] - costs, 0)
        gains[rows] = -1
        rows.append(int(gains.argmax()))
        nearest = np.minimum(nearest, costs[:, rows[-1]])
    return rows


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), budget=st.integers(1, 4))
def test_greedy_reaches_its_guarantee_against_brute_force(seed, budget):
    problem = make_problem(30, 9, budget, 4, seed)
    chosen = facility(problem, GREEDY, 0)
    best = LARGEST_COST - best_free_cost(problem)
    assert LARGEST_COST - free_cost(problem, chosen.rows) >= (1 - 1 / np.e) * best - 1e-6


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), budget=st.integers(1, 25))
def test_lazy_greedy_is_plain_greedy(seed, budget):
    problem = make_problem(90, 25, budget, 6, seed)
    chosen, expected = facility(problem, GREEDY, 0).rows, plain_greedy(problem)
    # By cost, prefix by prefix: rounding may settle a tie the other way.
    for count in range(1, budget + 1):
        cost = free_cost(problem, np.array(expected[:count]))
        assert free_cost(problem, chosen[:count]) == pytest.approx(cost, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("leaders", [2, 40, 2048])
def test_lazy_greedy_computes_few_gains(monkeypatch, leaders):
    """Few leaders, so that others must be looked at again, and more of them than candidates."""
    monkeypatch.setattr(facility_module, "MOST_LEADERS", leaders)
    monkeypatch.setattr(facility_module, "BATCH", 8)
    problem = make_problem(800, 400, 30, 16)
    found = facility(problem, GREEDY, 0)
    np.testing.assert_array_equal(found.rows, plain_greedy(problem))
    looked_at = found.diagnostics["computed_gains"]
    assert looked_at < 0.5 * 400 * 28
    assert (looked_at > 0) == (leaders < 400)


def test_greedy_is_nested_and_its_costs_are_the_budget_curve(problem):
    with costs_held(problem) as costs:
        path = greedy_path(costs, 20)
    for budget in (1, 2, 7, 20):
        chosen = facility(replace(problem, budget=budget), GREEDY, 0).rows
        np.testing.assert_array_equal(chosen, path.rows[:budget])
        assert path.costs[budget - 1] == pytest.approx(free_cost(problem, chosen), rel=1e-5)
    assert (np.diff(path.costs) <= 0).all()


@pytest.mark.parametrize("memory", [0, 4 * 400, 4 * 400 * 12, 2**24])
def test_memory_changes_nothing(problem, memory):
    with costs_held(problem, memory, 50) as costs:
        path = greedy_path(costs, 8)
        np.testing.assert_array_equal(path.rows, plain_greedy(problem))
        search = SwapSearch(costs, path.rows)
        search.run()
        found = greedy_path(costs, 8, among=search.rows).rows
    np.testing.assert_array_equal(found, facility(problem, REFINED, 0).rows)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), budget=st.integers(1, 6))
def test_no_swap_lowers_the_cost_of_a_refined_set(seed, budget):
    problem = make_problem(60, 14, budget, 5, seed)
    found = facility(problem, REFINED, 0)
    costs, cost = costs_of(problem), found.diagnostics["cost"]
    assert cost == pytest.approx(free_cost(problem, found.rows), rel=1e-5, abs=1e-7)
    assert cost <= found.diagnostics["greedy_cost"] * (1 + 1e-6)
    for position in range(budget):
        for candidate in set(range(14)) - set(found.rows.tolist()):
            other = found.rows.copy()
            other[position] = candidate
            swapped = float(problem.weights @ costs[:, other].min(axis=1))
            assert swapped >= cost * (1 - 1e-5)


def test_refinement_repairs_a_bad_start(problem):
    start = random(problem, REFINED, 1).rows
    with costs_held(problem) as costs:
        search = SwapSearch(costs, start)
        before = search.cost
        search.run()
        after = search.cost
    assert search.swaps > 0
    assert after < before
    assert after == pytest.approx(free_cost(problem, search.rows), rel=1e-5)
    greedy = facility(problem, GREEDY, 0).diagnostics["cost"]
    assert after < 1.05 * greedy


def test_a_whole_pass_gives_the_change_of_every_swap(problem):
    rows = random(problem, REFINED, 2).rows
    with costs_held(problem) as costs_of_rows:
        changes = SwapSearch(costs_of_rows, rows)._all_changes()
    costs = costs_of(problem)
    for position, candidate in [(0, 3), (4, 17), (7, 59)]:
        other = rows.copy()
        other[position] = candidate
        expected = problem.weights @ (costs[:, other].min(axis=1) - costs[:, rows].min(axis=1))
        assert changes[position, candidate] == pytest.approx(expected, abs=1e-6)


def test_twins_are_chosen_once():
    part = make_problem(200, 10, 2, seed=1)
    first = int(facility(replace(part, budget=1), GREEDY, 0).rows[0])
    twins = replace(part, pool=np.vstack([part.pool, part.pool[first : first + 1]]))
    assert {first, 10} - set(facility(twins, GREEDY, 0).rows.tolist())


def test_a_selection_keeps_to_its_memory():
    """20,000 × 1,000 costs take 80 MB; the cap is 16 MB, and twice that with all that is small."""
    import tracemalloc

    problem = make_problem(20_000, 1_000, 10, 8)
    tracemalloc.start()
    facility(problem, SelectionSettings(memory_megabytes=16, refine=True, block_rows=1024), 0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 32e6


def test_no_row_is_taken_twice_when_nothing_is_left_to_gain():
    points = np.array([[1, 0], [0, 1], [-1, 0], [0, -1]], dtype=np.float32)
    for begin in (None, np.array([1, 3])):
        rows, weights = ArrayBlocks(points[:2]), np.array([0.6, 0.4])
        with FacilityCosts.of(rows, weights, points, 2**20) as costs:
            path = greedy_path(costs, 4, begin)
        assert sorted(path.rows.tolist()) == [0, 1, 2, 3]
        assert (np.diff(path.costs) <= 0).all()


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("spread", [0.1, 0.003])
def test_swaps_end_where_rows_are_nearly_alike(seed, spread):
    """Every candidate twice, in a tight cluster: differences of cost are those of rounding."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal(8) + spread * rng.standard_normal((130, 8))
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    pool = np.repeat(rows[99:], 2, axis=0)
    weights = np.full(99, 1 / 99)
    with FacilityCosts.of(ArrayBlocks(rows[:99]), weights, pool, 2**20) as costs:
        search = SwapSearch(costs, greedy_path(costs, 10).rows)
        search.run()
    assert search.sweeps < 50


def test_the_columns_of_several_steps_are_computed_in_one_pass(monkeypatch):
    problem, passes = make_problem(600, 80, 24, 16, seed=0), []
    compute = CostColumns._compute

    def counted(self, candidates):
        passes.append(len(candidates))
        compute(self, candidates)

    monkeypatch.setattr(CostColumns, "_compute", counted)
    found = facility(problem, GREEDY, 0)
    assert found.rows.tolist() == plain_greedy(problem)
    assert len(passes) < len(found.path) / 3
