from __future__ import annotations

import builtins

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from take.transport.lineage import entropic_lineage, nearest_lineage

from take.rows.blocks import ArrayBlocks
from take.transport.costs import TransportError
from take.transport.exact import (
    draw_by_weight,
    read_rows,
    reweighting_distance,
    wasserstein,
)
from take.transport.sinkhorn import conditional_plan, entropic_plan
from tests.transport.conftest import make_clouds


def test_exact_distances_by_hand():
    points = np.array([[0.0], [1.0], [3.0]], dtype=np.float32)
    a, b = np.array([0.5, 0.5, 0.0]), np.array([0.0, 0.5, 0.5])
    assert wasserstein(points, a, points, b, power=1) == pytest.approx(1.5)
    # On a line the monotone plan is the best: 0 → 1 and 1 → 3.
    assert wasserstein(points, a, points, b, power=2) == pytest.approx((0.5 + 2) ** 0.5)


def test_a_subsample_is_stated_and_repeats(clouds):
    equal = np.full(len(clouds.targets), 1 / len(clouds.targets))

    def distance(rows, seed):
        chosen, shares = draw_by_weight(clouds.weights, rows, seed)
        sample = read_rows(clouds.corpus, chosen)
        return len(chosen), wasserstein(sample, shares, clouds.targets, equal)

    (n_whole, whole), part, again = distance(2000, 0), distance(100, 3), distance(100, 3)
    assert n_whole == 300
    assert part[0] <= 100
    assert part == again
    assert part[1] == pytest.approx(whole, rel=0.2)


def test_uniform_weights_move_nothing_and_others_something(clouds):
    flat = np.full(300, 1 / 300)
    assert reweighting_distance(clouds.corpus, flat).value == pytest.approx(0, abs=1e-7)
    assert reweighting_distance(clouds.corpus, clouds.weights, rows=200).value > 0.01


def test_without_pot_the_message_says_what_to_install(clouds, monkeypatch):
    real = builtins.__import__

    def no_pot(name, *arguments, **options):
        if name == "ot":
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", no_pot)
    with pytest.raises(TransportError, match="pip install POT"):
        reweighting_distance(clouds.corpus, clouds.weights)


@given(seed=st.integers(0, 1000), n_rows=st.integers(1, 80), rows=st.integers(1, 60))
def test_a_draw_follows_the_weights(seed, n_rows, rows):
    weights = np.random.default_rng(seed).gamma(0.5, 1.0, n_rows)
    weights /= weights.sum()
    chosen, drawn = draw_by_weight(weights, rows, seed)
    assert drawn.sum() == pytest.approx(1)
    assert (np.diff(chosen) > 0).all()
    found = np.zeros(n_rows)
    found[chosen] = drawn
    assert np.abs(found - weights).max() <= 1 / rows + 1e-9


def test_rows_are_read_across_blocks():
    rows = np.arange(20_000, dtype=np.float32)[:, None]
    chosen = np.array([0, 8191, 8192, 19_999])
    assert read_rows(ArrayBlocks(rows), chosen)[:, 0].tolist() == chosen.tolist()


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000), top=st.integers(1, 90), block_rows=st.integers(1, 100))
def test_lineage_sums_to_what_is_assigned(seed, top, block_rows):
    clouds = make_clouds(80, 6, 5, seed)
    weights = clouds.weights.copy()
    weights[:5] = 0
    weights /= weights.sum()
    plan = entropic_plan(clouds.corpus, weights, clouds.targets, epsilon=0.2)
    for table in (
        nearest_lineage(clouds.corpus, weights, clouds.targets, top, block_rows),
        entropic_lineage(clouds.corpus, weights, clouds.targets, plan, top, block_rows=block_rows),
    ):
        listed = np.bincount(table.target, weights=table.mass, minlength=6)
        np.testing.assert_allclose(listed + table.unlisted, table.assigned, atol=1e-6)
        assert table.assigned.sum() == pytest.approx(1, abs=1e-6)
        assert len(table.main_target) == 80
        assert table.rows.sum() == 80
        assert (np.bincount(table.target, minlength=6) <= top).all()
        if top >= 80:
            np.testing.assert_allclose(table.unlisted, 0, atol=1e-12)


def test_the_listed_rows_are_the_heaviest_of_the_plan(clouds):
    plan = entropic_plan(clouds.corpus, clouds.weights, clouds.targets)
    blocks = conditional_plan(clouds.corpus, clouds.targets, plan.theta, plan.epsilon)
    gamma = clouds.weights[:, None] * np.concatenate([shares for _, shares, _ in blocks])
    table = entropic_lineage(
        clouds.corpus, clouds.weights, clouds.targets, plan, top=4, block_rows=37
    )
    for target in range(40):
        expected = np.argsort(-gamma[:, target], kind="stable")[:4]
        np.testing.assert_array_equal(table.row[table.target == target], expected)
        np.testing.assert_allclose(
            table.mass[table.target == target], gamma[expected, target], rtol=1e-9
        )


def test_nearest_lineage_gives_every_row_to_its_nearest(clouds):
    table = nearest_lineage(clouds.corpus, clouds.weights, clouds.targets, top=300)
    products = clouds.rows @ clouds.targets.T
    np.testing.assert_array_equal(table.main_target, products.argmax(axis=1))
    assert sorted(table.row.tolist()) == list(range(300))


def test_of_equal_masses_the_nearest_rows_are_listed():
    """Capped weights are equal for many rows: a reader wants those most like the target."""
    angles = np.array([0.5, 0.1, 0.4, 0.2, 0.3])
    rows = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    target = np.array([[1, 0]], dtype=np.float32)
    for block_rows in (2, 100):
        table = nearest_lineage(ArrayBlocks(rows), np.full(5, 0.2), target, 3, block_rows)
        assert table.row.tolist() == [1, 3, 4]
