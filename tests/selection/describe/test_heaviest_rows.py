"""The heaviest rows of a plan, which a lineage lists."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from take.rows.blocks import ArrayBlocks
from take.rows.nearest import nearest
from take.selection.describe.lineage import (
    heaviest_rows,
    nearest_heaviest_rows,
)
from take.transport.sinkhorn import conditional_plan, entropic_plan
from tests.transport.conftest import make_clouds


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000), top=st.integers(1, 90), block_rows=st.integers(1, 100))
def test_lineage_sums_to_what_is_assigned(seed, top, block_rows):
    clouds = make_clouds(80, 6, 5, seed)
    weights = clouds.weights.copy()
    weights[:5] = 0
    weights /= weights.sum()
    plan = entropic_plan(clouds.corpus, weights, clouds.targets, epsilon=0.2)
    entropic = conditional_plan(
        clouds.corpus, clouds.targets, plan.theta, 0.2, block_rows=block_rows
    )
    closest = nearest(clouds.corpus, clouds.targets, block_rows)
    for found in (
        heaviest_rows(entropic, weights, 6, top),
        nearest_heaviest_rows(closest, weights, 6, top),
    ):
        listed = np.bincount(found.target, weights=found.mass, minlength=6)
        assert (listed <= found.assigned + 1e-6).all()
        assert found.assigned.sum() == pytest.approx(1, abs=1e-6)
        assert len(found.main_target) == 80
        assert (np.bincount(found.target, minlength=6) <= top).all()
        if top >= 80:
            np.testing.assert_allclose(listed, found.assigned, atol=1e-12)


def test_the_listed_rows_are_the_heaviest_of_the_plan():
    clouds = make_clouds(300, 40)
    plan = entropic_plan(clouds.corpus, clouds.weights, clouds.targets)

    def blocks(block_rows: int):
        solved = (plan.theta, plan.epsilon)
        return conditional_plan(clouds.corpus, clouds.targets, *solved, block_rows=block_rows)

    def masses(block_rows: int) -> np.ndarray:
        shares = np.concatenate([found for _, found, _ in blocks(block_rows)])
        return clouds.weights[:, None] * shares

    gamma = masses(37)
    table = heaviest_rows(blocks(37), clouds.weights, 40, top=4)
    # float32 products are rounded otherwise in blocks of another size, by some processors.
    np.testing.assert_allclose(gamma, masses(300), rtol=1e-5, atol=1e-12)
    for target in range(40):
        expected = np.argsort(-gamma[:, target], kind="stable")[:4]
        np.testing.assert_array_equal(table.row[table.target == target], expected)
        np.testing.assert_allclose(
            table.mass[table.target == target], gamma[expected, target], rtol=1e-9
        )


def test_the_nearest_plan_gives_every_row_to_its_nearest():
    clouds = make_clouds(300, 40)
    closest = nearest(clouds.corpus, clouds.targets)
    table = nearest_heaviest_rows(closest, clouds.weights, 40, top=300)
    products = clouds.rows @ clouds.targets.T
    np.testing.assert_array_equal(table.main_target, products.argmax(axis=1))
    assert sorted(table.row.tolist()) == list(range(300))


def test_of_equal_masses_the_nearest_rows_are_listed():
    """Capped weights are equal for many rows: a reader wants those most like the target."""
    angles = np.array([0.5, 0.1, 0.4, 0.2, 0.3])
    rows = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    target = np.array([[1, 0]], dtype=np.float32)
    for block_rows in (2, 100):
        closest = nearest(ArrayBlocks(rows), target, block_rows)
        table = nearest_heaviest_rows(closest, np.full(5, 0.2), 1, 3)
        assert table.row.tolist() == [1, 3, 4]


def test_the_nearest_plan_lists_the_rows_of_its_dense_form():
    clouds = make_clouds(300, 40)
    weights = np.round(clouds.weights * 600) / 600  # some are equal, and some are zero
    found = nearest(clouds.corpus, clouds.targets)
    shares = np.eye(40)[found.row]
    costs = np.repeat(found.distance[:, None], 40, axis=1)
    blocks = [
        (start, shares[start : start + 70], costs[start : start + 70])
        for start in range(0, 300, 70)
    ]
    expected = heaviest_rows(blocks, weights, 40, top=5)
    table = nearest_heaviest_rows(found, weights, 40, top=5)
    for name in ("target", "row", "mass", "main_target"):
        np.testing.assert_array_equal(getattr(table, name), getattr(expected, name))
    np.testing.assert_allclose(table.assigned, expected.assigned)
