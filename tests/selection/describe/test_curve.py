from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from take.errors import InputError
from take.rows.blocks import ArrayBlocks
from take.selection.describe.curve import CurveOptions, along, budget_curve, find_knee
from take.selection.describe.distillation import Distillation
from take.selection.facility import greedy_path
from take.selection.facility_costs import FacilityCosts
from take.transport.exact import wasserstein
from tests.selection.describe.distillations import distances_of, make_distillation, rows_of, unit


@pytest.mark.parametrize("scope", ["class", "global"])
def test_the_curve_is_what_its_prefixes_give(scope):
    made = make_distillation(scope=scope)
    curve = budget_curve(made, CurveOptions(largest=12, w1_points=3))
    assert len(curve.table) == 12
    for k in (1, 3, 12):
        prefix = np.concatenate([path[:k] for path in curve.paths])
        distances = distances_of(chosen := replace(made, chosen=prefix))
        if scope == "class":
            distances[made.labels[:, None] != chosen.target_labels[None]] = np.inf
        nearest, line = distances.min(axis=1), curve.table.iloc[k - 1]
        assert line["rows"] == len(prefix)
        assert line["cost"] == pytest.approx(made.weights @ nearest**2, rel=1e-5)
        assert line["mean_distance"] == pytest.approx(nearest.mean(), rel=1e-5)
        # numpy interpolates between two of 240 rows, the curve within a bin of 0.0005.
        below, above = np.quantile(nearest, 0.95, method="lower"), np.quantile(nearest, 0.96)
        assert below - 1e-3 <= line["p95_distance"] <= above + 1e-3
    w1 = wasserstein(rows_of(made), made.weights, chosen.targets, np.full(len(prefix), 1.0))
    assert curve.table["w1"].iloc[-1] == pytest.approx(w1)
    assert curve.table["w1"].notna().sum() == 3
    assert curve.w1_rows == 240  # fewer than 500 a class: all of them
    assert curve.table["rows_per_class"].notna().all() == (scope == "class")


def test_the_path_is_greedy_facility_location_within_each_class():
    made = make_distillation()
    curve = budget_curve(made, CurveOptions(largest=6, w1_points=1))
    for label, path in enumerate(curve.paths):
        members, pool = made.labels == label, np.flatnonzero(made.pool_labels == label)
        weights = made.weights[members]
        rows, shares = ArrayBlocks(rows_of(made)[members]), weights / weights.sum()
        with FacilityCosts.of(rows, shares, made.pool[pool], 2**20) as costs:
            expected = greedy_path(costs, 6).rows
        np.testing.assert_array_equal(path, pool[expected])
    assert curve.table["cost"].is_monotonic_decreasing
    np.testing.assert_allclose(
        curve.table["gain"].iloc[1:], -np.diff(curve.table["cost"]), atol=1e-15
    )


def test_w1_is_on_a_stated_sample():
    made = make_distillation(n_rows=900)
    curve = budget_curve(made, CurveOptions(largest=4, w1_rows_per_class=50, w1_points=2))
    again = budget_curve(made, CurveOptions(largest=4, w1_rows_per_class=50, w1_points=2))
    assert 100 < curve.w1_rows <= 150
    np.testing.assert_array_equal(curve.table["w1"], again.table["w1"])


def test_blocks_do_not_matter():
    made = make_distillation()
    whole = along(made.corpus, made.weights, made.targets)
    parts = along(made.corpus, made.weights, made.targets, block_rows=7)
    np.testing.assert_allclose(parts.cost, whole.cost, rtol=1e-6)
    assert np.abs(parts.counts - whole.counts).sum(axis=1).max() <= 2  # rounding at a bin's edge
    assert (whole.counts.sum(axis=1) == 240).all()


def test_a_class_with_few_candidates_gives_all_it_has():
    made = make_distillation()
    few = np.concatenate([np.flatnonzero(made.pool_labels != 1), [1, 4]])  # two of class 1
    made = replace(
        made, pool=made.pool[few], pool_labels=made.pool_labels[few], chosen=np.array([0])
    )
    table = budget_curve(made, CurveOptions(largest=5, w1_points=1)).table
    assert table["rows"].tolist() == [3, 6, 8, 10, 12]


def test_classes_without_candidates_are_left_out_and_counted():
    made = make_distillation()
    kept = made.pool_labels != 2
    made = replace(made, pool=made.pool[kept], pool_labels=made.pool_labels[kept], chosen=[0])
    curve = budget_curve(made, CurveOptions(largest=3, w1_points=1))
    assert curve.left_out_rows == 80
    assert len(curve.paths) == 2
    assert curve.table["rows"].tolist() == [2, 4, 6]


def test_a_class_of_weight_0_is_covered_and_costs_nothing():
    made = make_distillation()
    weights, members = np.where(made.labels == 1, 0, made.weights), made.labels == 1
    made = replace(made, weights=weights / weights.sum())
    curve = budget_curve(made, CurveOptions(largest=3))
    assert curve.table["rows"].tolist() == [3, 6, 9]
    # Its path is that of equal weights, and its rows count for distances but not for the cost.
    even = np.where(members, 1 / members.sum(), 0)
    np.testing.assert_array_equal(
        curve.paths[1], budget_curve(replace(made, weights=even), CurveOptions(largest=3)).paths[1]
    )
    distances = distances_of(chosen := replace(made, chosen=np.concatenate(curve.paths)))
    distances[made.labels[:, None] != chosen.target_labels[None]] = np.inf
    nearest, last = distances.min(axis=1), curve.table.iloc[-1]
    assert last["cost"] == pytest.approx(made.weights @ nearest**2, rel=1e-5)
    assert last["mean_distance"] == pytest.approx(nearest.mean(), rel=1e-5)


def test_eight_clusters_have_a_knee_at_eight():
    rng = np.random.default_rng(0)
    centres = np.eye(8, 20)

    def draw(count):
        return unit(centres[np.arange(count) % 8] + 0.05 * rng.standard_normal((count, 20)))

    rows, pool = draw(400), draw(160)
    labels = [np.zeros(len(each), dtype=np.int64) for each in (rows, pool)]
    made = Distillation(
        ArrayBlocks(rows), np.full(400, 1 / 400), labels[0], pool, labels[1], np.array([0])
    )
    knee = budget_curve(made, CurveOptions(largest=60, w1_points=1)).knee
    assert knee.k == 8
    assert "8 rows per class" in knee.sentence
    assert "coverage, not about accuracy" in knee.sentence


@pytest.mark.parametrize(
    "cost",
    [
        pytest.param(lambda k: 3 - 0.04 * k, id="straight in k"),
        pytest.param(lambda k: 3 - 0.4 * np.log(k), id="straight in log k"),
        pytest.param(lambda k: k ** (-2 / 20), id="a power law, as in twenty dimensions"),
        pytest.param(lambda k: np.ones(len(k)), id="flat"),
        pytest.param(lambda k: 1 - 1e-9 * (k > 1), id="flat but for rounding"),
    ],
)
def test_a_curve_without_scale_has_no_knee(cost):
    k = np.arange(1, 61)
    assert find_knee(k, cost(k)) is None


@pytest.mark.parametrize("planted", [4, 10, 20])
def test_a_planted_knee_is_found(planted):
    k = np.arange(1, 61)
    cost = np.where(k <= planted, 2 - 0.5 * np.log(k), 2 - 0.5 * np.log(planted))
    found = find_knee(k, cost - 0.02 * np.log(k))
    assert found is not None
    assert found.k == planted


def test_two_points_have_no_knee():
    assert find_knee([1, 2], [2.0, 1.0]) is None


def test_the_sentence_says_that_there_is_no_knee():
    made = make_distillation()
    knee = budget_curve(made, CurveOptions(largest=2)).knee
    assert knee.k is None
    assert "no knee up to 2 rows per class" in knee.sentence
    assert "not about accuracy" in knee.sentence


def test_a_curve_of_no_points_is_refused():
    with pytest.raises(InputError, match="largest is 0. Allowed: 1 or more"):
        CurveOptions(largest=0)


def test_a_pool_of_other_classes_is_refused():
    made = make_distillation()
    with pytest.raises(InputError, match="no class with weight"):
        budget_curve(replace(made, pool_labels=made.pool_labels + 3))
