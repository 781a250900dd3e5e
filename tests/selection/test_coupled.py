"""Selectors and lineage under a prior coupling."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from pydantic import ValidationError

from take.errors import InputError
from take.rows.blocks import ArrayBlocks
from take.selection.describe.distillation import Distillation
from take.selection.describe.lineage import trace
from take.selection.facility import facility
from take.selection.groups import RowGroups, row_groups
from take.selection.selection_settings import UNCOUPLED, CouplingSettings, SelectionSettings
from take.selection.selectors import SELECTORS, selector
from take.selection.swap import EntropicSwaps, swap
from take.transport.coupling import couple
from take.transport.sinkhorn import entropic_plan
from tests.selection.conftest import costs_of, make_problem, make_selection_problem

STRONG = CouplingSettings(by="group", strength=0.95)
COUPLED = [name for name in SELECTORS if name not in UNCOUPLED]


def grouped(n_rows: int = 400, **changes):
    """Two groups, the smaller one on one side of the sphere."""
    problem = make_selection_problem(budgets=(4, 0, 5), n_rows=n_rows, **changes)
    side = problem.corpus.phi.read(0, n_rows)[:, 0]
    groups = np.where(side > np.quantile(side, 0.8), "rare", "common")
    return replace(problem, corpus=replace(problem.corpus, groups=groups.tolist()))


def coupled_problem(seed: int = 0, n_rows: int = 80, n_candidates: int = 12, budget: int = 3):
    problem = make_problem(n_rows, n_candidates, budget, 5, seed)
    groups = (problem.corpus.read(0, n_rows)[:, 0] > 0).astype(np.int64)
    coupling = couple(problem.corpus, problem.weights, groups, problem.pool, 0.8)
    return replace(problem, coupling=coupling)


def chosen(problem, name, **changes):
    return selector(name)(problem, SelectionSettings(selector=name, block_rows=64, **changes)).rows


@pytest.mark.filterwarnings("ignore::take.selection.problem.SelectionWarning")
@pytest.mark.parametrize("scope", ["class", "global"])
@pytest.mark.parametrize("by", ["group", "clusters"])
@pytest.mark.parametrize("name", COUPLED)
def test_every_coupled_selector_takes_a_coupling_and_repeats(name, by, scope):
    problem = grouped(scope=scope)
    coupling = CouplingSettings(by=by, clusters=3, strength=0.9)
    rows = chosen(problem, name, coupling=coupling)
    assert len(set(rows.tolist())) == 9
    np.testing.assert_array_equal(rows, chosen(problem, name, coupling=coupling))


@pytest.mark.filterwarnings("ignore::take.selection.problem.SelectionWarning")
@pytest.mark.parametrize("name", COUPLED)
def test_no_strength_chooses_as_no_coupling_and_a_strong_one_differently(name):
    problem = grouped()
    plain = chosen(problem, name, epsilon=0.3)
    if name != "received_mass":  # rounding decides its ranking
        none = CouplingSettings(by="group", strength=0.0)
        np.testing.assert_array_equal(chosen(problem, name, epsilon=0.3, coupling=none), plain)
    if name != "exam":  # the search may end in the same rows
        strong = chosen(problem, name, epsilon=0.3, coupling=STRONG)
        assert set(strong.tolist()) != set(plain.tolist())


def test_facility_minimises_the_cost_with_the_penalty():
    problem = coupled_problem(n_rows=60, n_candidates=10)
    penalised = costs_of(problem) - 0.3 * np.log(problem.coupling(0, 60))

    def value(rows):
        return float(problem.weights @ penalised[:, list(rows)].min(axis=1))

    found = facility(problem, SelectionSettings(epsilon=0.3), 0)
    best = min(map(value, combinations(range(10), 3)))
    shift = float(problem.weights @ penalised.min(axis=1))
    assert value(found.rows) - shift <= 1.1 * (best - shift) + 1e-6
    # The cost that is reported is this one, up to a constant of each row.
    shift = float(problem.weights @ (-0.3 * np.log(problem.coupling(0, 60))).min(axis=1))
    assert found.diagnostics["cost"] == pytest.approx(value(found.rows) - shift, abs=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_the_bound_of_a_swap_holds_with_a_coupling(seed):
    problem = coupled_problem(seed, budget=4)
    settings = SelectionSettings(epsilon=0.1, swap_patience=1000)
    rows = problem.corpus.read(0, 80)

    def value(chosen):
        prior = problem.coupling.of_targets(chosen)
        plan = entropic_plan(
            problem.corpus, problem.weights, problem.pool[chosen], epsilon=0.1, prior=prior
        )
        return plan.value

    search = EntropicSwaps(rows, problem.weights, problem.pool, settings, problem.coupling)
    search.start(np.array([0, 3, 5, 9]))
    for position, candidate, bound in search._swaps_by_bound(search._pool_potentials()):
        other = search.chosen.copy()
        other[position] = candidate
        assert value(other) >= search.plan.value + bound - 1e-5
    found = swap(problem, settings, 0)
    assert found.diagnostics["proven"] == 1
    assert found.diagnostics["entropic_value"] == pytest.approx(value(found.rows), rel=1e-4)


def test_the_figures_say_what_stays_within_groups():
    problem = grouped()
    plain, strong = SelectionSettings(), SelectionSettings(coupling=STRONG, epsilon=0.3)
    assert problem.figures(np.arange(5), plain) == {}
    everything = problem.figures(np.arange(len(problem.pool)), strong)
    few = problem.figures(chosen(problem, "facility", coupling=STRONG), strong)
    for figures in (everything, few):
        assert 0 < figures["within_groups_by_chance"] < figures["within_groups"] <= 1
    assert few["within_groups"] < everything["within_groups"]


def test_the_entropic_lineage_keeps_groups_and_the_nearest_one_does_not_change():
    rng = np.random.default_rng(1)
    points = rng.standard_normal((200, 4))
    rows = (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32)
    labels, groups = np.zeros(200, dtype=np.int64), RowGroups((rows[:, 0] > 0).astype(int), 0.95)
    weights, picked = np.full(200, 1 / 200), np.arange(6)
    made = Distillation(ArrayBlocks(rows), weights, labels, rows[:20], labels[:20], picked)

    def kept(groups):
        found = trace(made, "entropic", 200, 0.5, groups)
        same = (rows[found.row, 0] > 0) == (rows[found.target, 0] > 0)
        return float(found.mass[same].sum())

    assert kept(groups) > kept(None) + 0.02
    plain, coupled = trace(made), trace(made, groups=groups)
    np.testing.assert_array_equal(plain.main_target, coupled.main_target)


def test_clusters_are_of_each_class_and_repeat():
    problem = grouped()
    settings = CouplingSettings(by="clusters", clusters=3)
    found, again = (
        row_groups(problem.corpus, problem.weights, "class", settings, seed=4) for _ in range(2)
    )
    np.testing.assert_array_equal(found.of_row, again.of_row)
    np.testing.assert_array_equal(found.of_row // 3, problem.corpus.labels)
    assert len(np.unique(found.of_row)) == 9
    everything = row_groups(problem.corpus, problem.weights, "global", settings, seed=4)
    assert set(everything.of_row.tolist()) == {0, 1, 2}


def test_what_cannot_be_coupled_is_refused():
    with pytest.raises(ValidationError, match="'kmeans' transports nothing"):
        SelectionSettings(selector="kmeans", coupling=STRONG)
    with pytest.raises(InputError, match=r"the corpus has no groups.*columns\.group"):
        chosen(make_selection_problem(budgets=(4, 0, 5)), "facility", coupling=STRONG)
    with pytest.raises(ValidationError, match="less than 1"):
        CouplingSettings(strength=1.0)


def test_exam_says_that_the_coupling_acts_on_its_start(caplog):
    chosen(grouped(), "exam", coupling=STRONG)
    assert "acts on the rows that the search of `exam` starts from" in caplog.text
