from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from take.errors import InputError
from take.rows.blocks import ArrayBlocks
from take.selection.problem import ClassProblem, SelectionWarning
from take.selection.selection_settings import SelectionSettings
from take.selection.selectors import (
    SELECTORS,
    kmeans,
    random,
    received_mass,
    selector,
    semi_relaxed,
    weighted_centres,
)
from tests.selection.conftest import costs_of, free_cost, make_problem, make_selection_problem

SETTINGS = SelectionSettings(block_rows=64)


def chosen(problem, name, **changes):
    settings = SelectionSettings(selector=name, **{"block_rows": 64, "seed": 4, **changes})
    return selector(name)(problem, settings).rows


@pytest.mark.filterwarnings("ignore::take.selection.problem.SelectionWarning")
@pytest.mark.parametrize("scope", ["class", "global"])
@pytest.mark.parametrize("name", SELECTORS)
def test_a_selection_is_distinct_of_the_right_size_and_repeats(name, scope):
    problem = make_selection_problem(budgets=(5, 0, 7), scope=scope)
    rows = chosen(problem, name)
    assert rows.dtype == np.int64
    assert len(set(rows.tolist())) == len(rows) == 12
    if scope == "class":
        assert problem.pool.labels[rows].tolist() == [0] * 5 + [2] * 7
    np.testing.assert_array_equal(rows, chosen(problem, name))


@pytest.mark.filterwarnings("ignore::take.selection.problem.SelectionWarning")
@pytest.mark.parametrize("name", [n for n in SELECTORS if n != "received_mass"])
def test_blocks_change_no_selection(name):
    # But of `received_mass`, whose ranking is noise: rounding decides.
    problem = make_selection_problem(budgets=(4, 4, 4))
    whole, parts = (chosen(problem, name, block_rows=rows) for rows in (1000, 37))
    np.testing.assert_array_equal(whole, parts)


@pytest.mark.parametrize("name", ["random", "semi_relaxed"])
def test_some_selections_are_nested(name):
    small, large = (make_selection_problem(budgets=(k, 0, 0)) for k in (5, 20))
    np.testing.assert_array_equal(chosen(small, name), chosen(large, name)[:5])


@pytest.mark.parametrize("name", ["facility", "exam"])
def test_rows_chosen_before_are_kept(name):
    problem = make_selection_problem(budgets=(10, 10, 10))
    before = chosen(problem, name)
    grown = make_selection_problem(budgets=(10, 10, 10), n_rows=440)
    after = chosen(replace(grown, previous=before), name, most_replaced=0.2)
    assert len(np.setdiff1d(before, after)) <= 6
    kept = chosen(replace(grown, previous=before), name, most_replaced=0)
    np.testing.assert_array_equal(np.sort(kept), np.sort(before))
    # A budget that has grown is filled up, whatever may be replaced.
    more = make_selection_problem(budgets=(12, 10, 10), n_rows=440)
    filled = chosen(replace(more, previous=before), name, most_replaced=0)
    assert len(filled) == 32
    assert np.isin(before, filled).all()


@pytest.mark.parametrize("name", ["random", "kmeans", "swap"])
def test_selectors_that_cannot_begin_from_rows_are_refused(name):
    problem = make_selection_problem(budgets=(2, 2, 2))
    with pytest.raises(InputError, match="cannot begin from rows chosen before"):
        chosen(replace(problem, previous=np.array([0])), name)


def test_a_class_with_too_few_candidates_is_named():
    with pytest.raises(InputError, match="class 1: .*20 candidates.*at least 21"):
        make_selection_problem(budgets=(1, 21, 1)).parts()


def test_random_follows_its_seed(problem):
    drawn = [random(problem, SETTINGS, seed).rows.tolist() for seed in range(20)]
    assert len({tuple(rows) for rows in drawn}) == 20


def test_kmeans_finds_the_candidates_at_separate_clusters():
    rng = np.random.default_rng(0)
    pool = np.eye(6, dtype=np.float32)
    rows = np.repeat(pool[:3], [60, 30, 10], axis=0) + 0.02 * rng.standard_normal((100, 6))
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    part = ClassProblem(ArrayBlocks(rows), np.full(100, 0.01), pool, budget=3)
    assert kmeans(part, SETTINGS, 0).rows.tolist() == [0, 1, 2]  # heaviest first


def test_kmeans_uses_weights_and_ends_at_centres(problem):
    rows = problem.corpus.read(0, 400)
    centres, mass, inertia = weighted_centres(problem.corpus, problem.weights, 5, 200, 0, 33)
    nearest = ((rows[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    for centre in range(5):
        w = problem.weights[nearest == centre]
        expected = w @ rows[nearest == centre] / w.sum()
        np.testing.assert_allclose(centres[centre], expected, atol=0.02)
    assert mass.sum() == pytest.approx(1)
    assert inertia < free_cost(problem, random(problem, SETTINGS, 0).rows)


def test_kmeans_with_fewer_rows_than_centres():
    part = make_problem(3, 20, 7)
    assert len(set(kmeans(part, SETTINGS, 0).rows.tolist())) == 7


def test_received_mass_warns_that_its_ranking_is_noise_at_convergence(problem):
    settings = SelectionSettings(iterations=3000, epsilon=0.2)
    with pytest.warns(SelectionWarning, match="within the solver's tolerance.*rounding noise"):
        found = received_mass(problem, settings, 0)
    assert found.diagnostics["ranking_is_noise"] == 1
    assert found.diagnostics["marginal_error"] <= settings.tolerance
    assert found.diagnostics["relative_spread"] < 1e-3


def test_received_mass_before_convergence_ranks_by_the_residual(problem):
    with pytest.warns(SelectionWarning, match="after 2 iterations.*not corrected yet"):
        found = received_mass(problem, SelectionSettings(iterations=2), 0)
    assert found.diagnostics["ranking_is_noise"] == 0


def test_received_mass_runs_the_papers_200_iterations(problem):
    with pytest.warns(SelectionWarning, match="after 200 iterations"):
        received_mass(problem, SelectionSettings(), 0)


def test_semi_relaxed_takes_both_twins():
    """What the mass cannot see: the second twin adds nothing."""
    part = make_problem(200, 10, 2, seed=1)
    costs = costs_of(part)
    softmax = np.exp(-costs / 0.05)
    popular = int((part.weights @ (softmax / softmax.sum(axis=1, keepdims=True))).argmax())
    pool = np.vstack([part.pool, part.pool[popular : popular + 1]])
    twins = ClassProblem(part.corpus, part.weights, pool, 2)
    chosen = semi_relaxed(twins, SelectionSettings(epsilon=0.5), 0)
    assert chosen.diagnostics["chosen_mass"] <= 1
    mass = semi_relaxed(replace(twins, budget=11), SelectionSettings(), 0).rows.tolist()
    assert abs(mass.index(popular) - mass.index(10)) == 1
