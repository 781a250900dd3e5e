from __future__ import annotations

import builtins

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from take.rows.blocks import ArrayBlocks
from take.transport.costs import TransportError
from take.transport.exact import (
    draw_by_weight,
    read_rows,
    reweighting_distance,
    wasserstein,
    wasserstein_within,
)


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


def labelled(seed, n_rows, gap=0.0, n_classes=3):
    """Rows of classes that are `gap` apart, weights, labels; every class has a row."""
    random = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(n_classes), random.integers(0, n_classes, n_rows)])
    points = random.random((len(labels), 2))
    points[:, 0] += gap * labels
    return points.astype(np.float32), random.gamma(1.0, 1.0, len(labels)), labels


def at_mass(weights, labels, mass):
    return weights * (mass / np.bincount(labels, weights))[labels]


@given(seed=st.integers(0, 500), sizes=st.tuples(st.integers(0, 20), st.integers(0, 20)))
def test_within_classes_is_no_nearer_where_class_masses_agree(seed, sizes):
    (x, a, of_x), (y, b, of_y) = (labelled([seed, side], sizes[side]) for side in (0, 1))
    mass = np.random.default_rng(seed).dirichlet(np.ones(3))
    a, b = at_mass(a, of_x, mass), at_mass(b, of_y, mass)
    within = wasserstein_within(x, a, of_x, y, b, of_y)
    assert within >= wasserstein(x, a, y, b) - 1e-6
    assert wasserstein_within(x, a, of_x, x, a, of_x) == pytest.approx(0, abs=1e-6)


@given(seed=st.integers(0, 500))
def test_within_classes_is_w1_where_classes_are_far_apart(seed):
    (x, a, of_x), (y, b, of_y) = (labelled([seed, side], 10, gap=50.0) for side in (0, 1))
    mass = np.array([0.2, 0.5, 0.3])
    a, b = at_mass(a, of_x, mass), at_mass(b, of_y, mass)
    within = wasserstein_within(x, a, of_x, y, b, of_y)
    assert within == pytest.approx(wasserstein(x, a, y, b), rel=1e-6)


def test_within_classes_needs_every_class_with_mass():
    x, a, of_x = labelled(0, 5)
    kept = of_x < 2
    assert wasserstein_within(x, a, of_x, x[kept], a[kept], of_x[kept]) is None
    assert wasserstein_within(x, a * kept, of_x, x[kept], a[kept], of_x[kept]) is not None
