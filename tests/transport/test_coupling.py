from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from take.rows.blocks import ArrayBlocks
from take.rows.nearest import nearest_rows
from take.transport.costs import Candidates, Column, CostColumns
from take.transport.coupling import Coupling, couple, group_shares
from take.transport.sinkhorn import conditional_plan, entropic_plan, semi_relaxed_mass


def unit(rng, count: int, n_features: int = 6):
    points = rng.standard_normal((count, n_features))
    return (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32)


def example(seed: int = 0, strength: float = 0.5, n_groups: int = 3):
    rng = np.random.default_rng(seed)
    rows, targets = unit(rng, 120), unit(rng, 15)
    weights = rng.gamma(1.0, 1.0, 120)
    weights /= weights.sum()
    groups = rows[:, :n_groups].argmax(axis=1)  # groups are regions, as topics are
    corpus = ArrayBlocks(rows)
    return corpus, weights, groups, targets, couple(corpus, weights, groups, targets, strength)


def mass_within(plan, coupling, weights, groups, shares):
    """Σ γ_nc q_c(g_n) of a plan of `example`."""
    corpus, _, _, targets, _ = example()
    blocks = conditional_plan(corpus, targets, plan.theta, plan.epsilon, coupling)
    return sum(
        float(
            weights[start : start + len(part)] @ (part * shares[groups[start:][: len(part)]]).sum(1)
        )
        for start, part, _ in blocks
    )


@given(seed=st.integers(0, 50), strength=st.floats(0, 0.99), n_groups=st.integers(1, 6))
def test_a_coupling_has_the_target_marginal_and_leaves_every_row_a_target(seed, strength, n_groups):
    _, weights, _, _, coupling = example(seed, strength, n_groups)
    density = coupling(0, 120)
    assert density.min() >= (1 - strength) * (1 - 1e-6)
    np.testing.assert_allclose(weights @ density, np.ones(15), rtol=1e-4)


def test_a_part_of_rows_and_targets_is_that_part_of_the_whole():
    *_, coupling = example()
    rows, targets = np.array([3, 90, 5]), np.array([7, 2])
    part = coupling.of_rows(rows).of_targets(targets)
    np.testing.assert_array_equal(part(1, 3), coupling(0, 120)[rows[1:]][:, targets])


def test_without_strength_the_plan_is_that_of_the_product_coupling():
    corpus, weights, _, targets, coupling = example(strength=0.0)
    plain = entropic_plan(corpus, weights, targets)
    coupled = entropic_plan(corpus, weights, targets, prior=coupling)
    np.testing.assert_allclose(coupled.theta, plain.theta, atol=1e-6)


def test_the_stronger_the_coupling_the_more_mass_keeps_its_group():
    kept = []
    for strength in (0.0, 0.5, 0.9):
        corpus, weights, groups, targets, coupling = example(strength=strength)
        shares = group_shares(corpus, groups, 3, targets)
        plan = entropic_plan(corpus, weights, targets, epsilon=0.2, prior=coupling)
        kept.append(mass_within(plan, coupling, weights, groups, shares))
    assert kept[0] + 0.02 < kept[1] < kept[2] - 0.01


def test_the_group_without_weight_has_no_preference():
    corpus, weights, groups, targets, _ = example()
    weights = np.where(groups == 1, 0, weights)
    coupling = couple(corpus, weights / weights.sum(), groups, targets, 0.5)
    np.testing.assert_array_equal(coupling.density[1], np.ones(15))
    assert np.isfinite(coupling.density).all()


def test_as_a_cost_it_is_the_prior_up_to_a_constant_of_the_row():
    corpus, _, _, targets, coupling = example()
    costs = coupling.costs(0.1).block(np.arange(120))
    assert costs.min() == 0
    from_prior = -0.1 * np.log(coupling(0, 120))
    assert np.ptp(costs - from_prior, axis=1).max() < 1e-6
    # The plan under C − ε log a is the plan under C with the prior a.
    free = semi_relaxed_mass(corpus, np.full(120, 1 / 120), targets, 0.1, prior=coupling)
    added = CostColumns(corpus, Candidates(targets), slots=1, added=coupling.costs(0.1))
    ((_, block),) = added.row_blocks(np.arange(120))
    shares = np.exp(-block.astype(np.float64) / 0.1)
    np.testing.assert_allclose(
        free, (shares / shares.sum(1, keepdims=True)).mean(axis=0), rtol=1e-4
    )


@pytest.mark.parametrize("slots", [1, 15])
def test_added_costs_are_in_columns_and_blocks(slots):
    corpus, _, _, targets, coupling = example()
    added = coupling.costs(0.1)
    pool = Candidates(targets)
    plain = CostColumns(corpus, pool, slots=slots, block_rows=32)
    columns = CostColumns(corpus, pool, slots=slots, block_rows=32, added=added)
    dense = np.stack([plain.column(Column(c, c, (c,))).copy() for c in range(15)], axis=1)
    dense += added.block(np.arange(120))
    some, rows = np.array([2, 9, 11]), np.arange(10, 100)
    for part, block in columns.row_blocks(rows, some):
        np.testing.assert_allclose(block, dense[rows[part]][:, some], atol=1e-6)
    np.testing.assert_allclose(columns.column(Column(9, 0, (9,))), dense[:, 9], atol=1e-6)


@given(seed=st.integers(0, 30), count=st.integers(1, 12), n_rows=st.integers(1, 40))
def test_nearest_rows_are_the_nearest(seed, count, n_rows):
    rng = np.random.default_rng(seed)
    queries, rows = unit(rng, 5), unit(rng, n_rows)
    found = np.sort(nearest_rows(queries, ArrayBlocks(rows), count), axis=1)
    expected = np.sort(np.argsort(-(queries @ rows.T), axis=1)[:, :count], axis=1)
    np.testing.assert_array_equal(found, expected)


def test_nearest_rows_are_found_across_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    queries, rows = unit(rng, 5), ArrayBlocks(unit(rng, 100))
    whole = np.sort(nearest_rows(queries, rows, 4), axis=1)
    monkeypatch.setattr("take.rows.nearest._BLOCK_ENTRIES", 35)
    np.testing.assert_array_equal(np.sort(nearest_rows(queries, rows, 4), axis=1), whole)


def test_a_coupling_is_a_prior_of_any_block():
    coupling = Coupling(np.array([0, 1, 1]), np.array([[2.0], [0.5]], dtype=np.float32))
    assert coupling(0, 3).tolist() == [[2.0], [0.5], [0.5]]
