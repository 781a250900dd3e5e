from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from take.rows.blocks import ArrayBlocks
from take.transport.costs import TransportError, squared_distances
from take.transport.sinkhorn import (
    SinkhornOptions,
    conditional_plan,
    entropic_plan,
    semi_relaxed_mass,
    transport_cost,
)
from tests.transport.conftest import Clouds, make_clouds

PRECISE = SinkhornOptions(tolerance=2e-6)


def dense_plan(clouds: Clouds, plan, prior=None, block_rows: int = 64):
    blocks = conditional_plan(
        clouds.corpus, clouds.targets, plan.theta, plan.epsilon, prior, block_rows
    )
    return clouds.weights[:, None] * np.concatenate([shares for _, shares, _ in blocks])


def costs_in_fp64(clouds: Clouds):
    rows, targets = clouds.rows.astype(float), clouds.targets.astype(float)
    return ((rows[:, None] - targets[None]) ** 2).sum(axis=2)


def sinkhorn_in_fp64(clouds: Clouds, epsilon: float, density=1.0, iterations: int = 20_000):
    """Plain log-domain Sinkhorn on the dense matrix."""
    from scipy.special import logsumexp

    with np.errstate(divide="ignore"):
        kernel = np.log(density) - costs_in_fp64(clouds) / epsilon
    log_w, log_nu = np.log(clouds.weights), -np.log(len(clouds.targets))
    g = np.zeros(len(clouds.targets))
    for _ in range(iterations):
        f = log_w - logsumexp(kernel + g, axis=1)
        change = log_nu - logsumexp(kernel + f[:, None], axis=0) - g
        g = g + change
        if np.abs(change).max() < 1e-12:
            break
    return np.exp(kernel + f[:, None] + g)


@pytest.mark.parametrize("epsilon", [0.02, 0.05, 0.5])
def test_the_plan_is_that_of_fp64(clouds, epsilon):
    plan = entropic_plan(
        clouds.corpus, clouds.weights, clouds.targets, epsilon=epsilon, options=PRECISE
    )
    expected = sinkhorn_in_fp64(clouds, epsilon)
    assert np.abs(dense_plan(clouds, plan) - expected).sum() < 2e-4
    assert np.abs(dense_plan(clouds, plan) - expected).max() < 1e-5
    cost = transport_cost(clouds.corpus, clouds.weights, clouds.targets, plan)
    assert cost == pytest.approx((expected * costs_in_fp64(clouds)).sum(), rel=1e-4)


@pytest.mark.parametrize("epsilon", [0.05, 0.5])
def test_the_plan_and_the_cost_are_those_of_pot(clouds, epsilon):
    import ot

    uniform = np.full(40, 1 / 40)
    expected = ot.sinkhorn(
        clouds.weights, uniform, costs_in_fp64(clouds), epsilon, "sinkhorn_log", 50_000, 1e-11
    )
    plan = entropic_plan(
        clouds.corpus, clouds.weights, clouds.targets, epsilon=epsilon, options=PRECISE
    )
    assert np.abs(dense_plan(clouds, plan) - expected).max() < 1e-5
    cost = transport_cost(clouds.corpus, clouds.weights, clouds.targets, plan)
    assert cost == pytest.approx((expected * costs_in_fp64(clouds)).sum(), rel=1e-4)


def test_potentials_give_the_plan_and_the_value_is_the_primal_one(clouds):
    epsilon = 0.1
    plan = entropic_plan(
        clouds.corpus, clouds.weights, clouds.targets, epsilon=epsilon, options=PRECISE
    )
    C, product = costs_in_fp64(clouds), np.outer(clouds.weights, plan.target_weights)
    gamma = product * np.exp((plan.f[:, None] + plan.g - C) / epsilon)
    np.testing.assert_allclose(gamma, dense_plan(clouds, plan), rtol=1e-3, atol=1e-9)
    primal = (gamma * C).sum() + epsilon * (gamma * np.log(gamma / product)).sum()
    assert plan.value == pytest.approx(primal, rel=1e-5)


@pytest.mark.parametrize("memory_bytes", [0, 4 * 40 * 64 * 2, 2**24])
@pytest.mark.parametrize("block_rows", [1, 64, 1000])
def test_blocks_and_memory_change_nothing(clouds, memory_bytes, block_rows):
    """Blocks computed again, kept in part and kept whole; in parts and in one."""
    if block_rows == 1:
        clouds = make_clouds(40, 40)
    options = SinkhornOptions(memory_bytes=memory_bytes, block_rows=block_rows, tolerance=2e-6)
    plan = entropic_plan(clouds.corpus, clouds.weights, clouds.targets, options=options)
    expected = sinkhorn_in_fp64(clouds, 0.05)
    assert np.abs(dense_plan(clouds, plan, block_rows=block_rows) - expected).max() < 1e-5


def test_both_marginals_hold(clouds):
    nu = np.linspace(1, 3, 40) / np.linspace(1, 3, 40).sum()
    plan = entropic_plan(clouds.corpus, clouds.weights, clouds.targets, target_weights=nu)
    gamma = dense_plan(clouds, plan)
    np.testing.assert_allclose(gamma.sum(axis=1), clouds.weights, rtol=1e-12)
    assert np.abs(gamma.sum(axis=0) - nu).sum() < 2e-5
    np.testing.assert_allclose(plan.received, gamma.sum(axis=0), rtol=1e-4)


def test_two_points_by_hand():
    """Π of two by two has one degree of freedom; at small ε as little mass as can be moves."""
    points = np.eye(2, dtype=np.float32)
    plan = entropic_plan(ArrayBlocks(points), np.array([0.75, 0.25]), points, epsilon=0.05)
    gamma = dense_plan(Clouds(points, np.array([0.75, 0.25]), points), plan)
    np.testing.assert_allclose(gamma, [[0.5, 0.25], [0, 0.25]], atol=1e-5)


def test_a_large_epsilon_gives_the_product_of_the_marginals(clouds):
    plan = entropic_plan(clouds.corpus, clouds.weights, clouds.targets, epsilon=1e4)
    expected = np.outer(clouds.weights, np.full(40, 1 / 40))
    np.testing.assert_allclose(dense_plan(clouds, plan), expected, rtol=1e-3)


def test_acceleration_needs_fewer_passes_for_the_same_plan(clouds):
    plain, fast = (
        entropic_plan(
            clouds.corpus,
            clouds.weights,
            clouds.targets,
            options=SinkhornOptions(memory=memory, max_iterations=100_000),
        )
        for memory in (0, 8)
    )
    assert fast.iterations < plain.iterations / 2
    assert fast.value == pytest.approx(plain.value, rel=1e-5)


def test_a_start_from_the_solution_is_at_once_done(clouds):
    plan = entropic_plan(clouds.corpus, clouds.weights, clouds.targets)
    again = entropic_plan(clouds.corpus, clouds.weights, clouds.targets, start=plan.theta)
    assert again.iterations <= 2


def test_non_convergence_is_an_error_with_the_residual(clouds):
    options = SinkhornOptions(max_iterations=3)
    with pytest.raises(
        TransportError, match=r"after 3 iterations .* off by 0\.\d+\. Allowed: 1e-05"
    ):
        entropic_plan(clouds.corpus, clouds.weights, clouds.targets, options=options)


def test_potentials_beyond_the_range_of_fp32_are_absorbed():
    """e^{−C/ε} underflows in fp32 and fp64 alike; 1 − ⟨x, y⟩ spans 2000 e-folds."""
    angles = np.linspace(0, np.pi, 12)
    rows = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    weights = np.full(12, 1 / 12)
    plan = entropic_plan(ArrayBlocks(rows), weights, rows[:3], epsilon=2e-3)
    assert plan.marginal_error <= 1e-5
    np.testing.assert_allclose(plan.received, 1 / 3, atol=1e-5)


def test_the_prior_coupling_replaces_the_product(clouds):
    rng = np.random.default_rng(3)
    density = rng.uniform(0.2, 3.0, (300, 40)).astype(np.float32)
    density[:150, :20] = 0  # a topic that may not serve these rows
    density[150:, 20:] *= 0.01

    def prior(start: int, stop: int):
        return density[start:stop]

    plan = entropic_plan(
        clouds.corpus, clouds.weights, clouds.targets, epsilon=0.2, prior=prior, options=PRECISE
    )
    gamma = dense_plan(clouds, plan, prior)
    assert np.abs(gamma - sinkhorn_in_fp64(clouds, 0.2, density)).max() < 1e-5
    assert (gamma[:150, :20] == 0).all()
    flat = entropic_plan(
        clouds.corpus,
        clouds.weights,
        clouds.targets,
        prior=lambda start, stop: np.ones((stop - start, 40), np.float32),
    )
    without = entropic_plan(clouds.corpus, clouds.weights, clouds.targets)
    np.testing.assert_allclose(dense_plan(clouds, flat), dense_plan(clouds, without), atol=1e-7)


def test_a_row_without_any_target_is_named(clouds):
    density = np.ones((300, 40), np.float32)
    density[17] = 0
    with pytest.raises(TransportError, match="corpus row 17"):
        entropic_plan(
            clouds.corpus,
            clouds.weights,
            clouds.targets,
            prior=lambda start, stop: density[start:stop],
        )


def test_bad_target_weights_and_epsilon_are_refused(clouds):
    with pytest.raises(TransportError, match="sum 2"):
        entropic_plan(
            clouds.corpus, clouds.weights, clouds.targets, target_weights=np.full(40, 1 / 20)
        )
    with pytest.raises(TransportError, match="ε is 0"):
        entropic_plan(clouds.corpus, clouds.weights, clouds.targets, epsilon=0)


def test_rows_without_weight_neither_break_nor_matter(clouds):
    weights = clouds.weights.copy()
    weights[::3] = 0
    weights /= weights.sum()
    plan = entropic_plan(clouds.corpus, weights, clouds.targets)
    held = weights > 0
    alone = entropic_plan(ArrayBlocks(clouds.rows[held]), weights[held], clouds.targets)
    assert plan.value == pytest.approx(alone.value, rel=1e-5)
    assert np.isfinite(plan.f).all()


def test_semi_relaxed_is_the_closed_form(clouds):
    exponents = -costs_in_fp64(clouds) / 0.05
    softmax = np.exp(exponents - exponents.max(axis=1, keepdims=True))
    softmax /= softmax.sum(axis=1, keepdims=True)
    mass = semi_relaxed_mass(clouds.corpus, clouds.weights, clouds.targets, 0.05, block_rows=33)
    np.testing.assert_allclose(mass, clouds.weights @ softmax, rtol=1e-4, atol=1e-9)
    assert mass.sum() == pytest.approx(1, abs=1e-6)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n_rows=st.integers(1, 60),
    n_targets=st.integers(1, 20),
    epsilon=st.floats(0.03, 2.0),
)
def test_any_plan_has_its_marginals_and_costs_at_least_the_free_one(
    seed, n_rows, n_targets, epsilon
):
    clouds = make_clouds(n_rows, n_targets, 6, seed)
    options = SinkhornOptions(max_iterations=20_000)
    plan = entropic_plan(
        clouds.corpus, clouds.weights, clouds.targets, epsilon=epsilon, options=options
    )
    gamma = dense_plan(clouds, plan)
    assert np.abs(gamma.sum(axis=0) - 1 / n_targets).sum() <= 3e-5
    assert np.abs(gamma.sum(axis=1) - clouds.weights).sum() <= 1e-12
    free = clouds.weights @ squared_distances(clouds.rows, clouds.targets).min(axis=1)
    cost = transport_cost(clouds.corpus, clouds.weights, clouds.targets, plan)
    assert cost >= free - 1e-6


def test_a_plan_needs_no_matrix_in_memory():
    """20,000 × 500 costs take 40 MB in fp32; a pass without kept blocks stays far below."""
    import tracemalloc

    clouds = make_clouds(20_000, 500, 8)
    options = SinkhornOptions(
        memory_bytes=0, block_rows=512, max_iterations=3, raise_unless_converged=False
    )
    tracemalloc.start()
    entropic_plan(clouds.corpus, clouds.weights, clouds.targets, options=options)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8e6
