from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from take.errors import InputError
from take.rows.blocks import ArrayBlocks
from take.selection.describe.distillation import Distillation
from take.selection.describe.distillation_report import RunFacts, meanings
from take.selection.describe.indicators import (
    IndicatorOptions,
    effective_rows,
    least_covered_regions,
    measure,
    random_choice,
)
from take.selection.describe.lineage import trace
from take.transport.exact import wasserstein
from tests.selection.describe.distillations import (
    NAMES,
    distances_of,
    make_distillation,
    rows_of,
    tables_of,
    unit,
)


def facts(made, **changes):
    return RunFacts(
        **{"selector": "facility", "scope": made.scope, "budget": "4/class", "seed": 0} | changes
    )


def report_on(made, options=None):
    random = made.cover(random_choice(made, 0))
    return measure(made, trace(made), made.cover(), random, NAMES, facts(made), options)


def test_the_figures_are_their_definitions():
    made = make_distillation()
    report, distances = report_on(made), distances_of(made)
    own = np.where(made.labels[:, None] == made.target_labels[None], distances, np.inf).min(axis=1)
    assert own.mean() > 1.02 * distances.min(axis=1).mean()  # or the two would be one test
    assert report.cost == pytest.approx(made.weights @ own**2, rel=1e-5)
    # No more rows than the sample: it is the corpus.
    assert report.transport.sampled_rows == report.transport.corpus_rows == 240
    assert report.transport.distilled.cost == pytest.approx(report.cost, rel=1e-6)
    for covering, values in (
        (report.coverage.own_class, own),
        (report.coverage.any_class, distances.min(axis=1)),
    ):
        assert covering.mean == pytest.approx(values.mean(), rel=1e-5)
        assert covering.weighted_mean == pytest.approx(made.weights @ values, rel=1e-5)
        assert covering.p95 == pytest.approx(np.quantile(values, 0.95), rel=1e-5)
        assert covering.p99 == pytest.approx(np.quantile(values, 0.99), rel=1e-5)
        assert covering.largest == pytest.approx(values.max(), rel=1e-5)
    green = made.labels == 1
    part, mass = report.classes["green"], made.weights[green].sum()
    assert (part.rows, part.corpus_rows) == (4, 80)
    assert part.mass == pytest.approx(mass)
    assert part.cost == pytest.approx(made.weights[green] @ own[green] ** 2 / mass, rel=1e-5)
    assert part.mean_distance == pytest.approx(own[green].mean(), rel=1e-5)
    assert sum(each.mass * each.cost for each in report.classes.values()) == pytest.approx(
        report.cost, rel=1e-5
    )


def test_w1_is_exact_with_equal_masses_on_the_distilled_rows():
    made = make_distillation()
    expected = wasserstein(rows_of(made), made.weights, made.targets, np.full(12, 1 / 12))
    assert report_on(made).transport.distilled.w1 == pytest.approx(expected, rel=1e-6)


def test_w1_within_classes_is_the_mean_over_classes_by_mass():
    made = make_distillation()
    expected = 0.0
    for label in range(3):
        ours, theirs = made.labels == label, made.target_labels == label
        part = rows_of(made)[ours], made.weights[ours], made.targets[theirs], np.ones(4)
        expected += made.weights[ours].sum() * wasserstein(*part)
    transport = report_on(made).transport
    assert transport.distilled.w1_within == pytest.approx(expected, rel=1e-6)
    assert transport.random.w1_within > transport.pool.w1_within > 0


def test_w1_within_classes_is_none_for_a_class_without_rows():
    made = make_distillation(scope="global")
    lacking = replace(made, chosen=made.chosen[made.target_labels != 1])
    transport = report_on(lacking).transport
    assert transport.distilled.w1_within is None
    assert transport.pool.w1_within is not None


@pytest.mark.parametrize("scope", ["class", "global"])
@pytest.mark.parametrize("seed", range(4))
def test_the_pool_bounds_cost_and_w1_floor_of_every_choice(scope, seed):
    transport = report_on(make_distillation(scope=scope, seed=seed)).transport
    for side in (transport.random, transport.distilled):
        assert transport.pool.cost <= side.cost + 1e-6
        assert transport.pool.w1_floor <= side.w1_floor + 1e-6
        assert side.w1_floor <= side.w1 + 1e-6


def test_the_w1_of_a_pool_is_no_floor():
    """A pool of one apt row and nine odd ones: the choice of the apt row is nearer than all."""
    rows = unit(np.array([[1, 0.1], [1, -0.1], [1, 0.0]]))
    pool = unit(np.concatenate([[[1.0, 0.0]], np.tile([-1.0, 0.1], (9, 1))]))
    labels = (np.zeros(3, dtype=np.int64), np.zeros(10, dtype=np.int64))
    made = Distillation(ArrayBlocks(rows), np.full(3, 1 / 3), labels[0], pool, labels[1], [0])
    transport = report_on(made).transport
    assert transport.distilled.w1 < transport.pool.w1
    assert transport.distilled.w1 >= transport.pool.w1_floor - 1e-6


def test_a_random_choice_costs_what_its_rows_cost():
    made = make_distillation(scope="global")
    costs = []
    for seed in range(3):
        rows = random_choice(made, seed)
        costs.append(made.weights @ distances_of(replace(made, chosen=rows)).min(axis=1) ** 2)
    transport = report_on(made).transport
    assert transport.random.cost == pytest.approx(np.mean(costs), rel=1e-5)
    assert transport.random_draws == 3
    whole = report_on(replace(made, chosen=np.arange(60))).transport
    assert whole.reached is None  # a random choice of everything is everything


def test_reached_is_the_position_between_random_rows_and_the_whole_pool():
    transport = report_on(make_distillation()).transport
    way = transport.random.cost - transport.pool.cost
    assert transport.reached == pytest.approx(
        (transport.random.cost - transport.distilled.cost) / way
    )


def test_a_random_choice_has_the_same_mix_of_classes_and_varies_with_the_seed():
    made = make_distillation()
    first, second = random_choice(made, 0), random_choice(made, 1)
    assert np.bincount(made.pool_labels[first]).tolist() == [4, 4, 4]
    assert len(np.unique(first)) == 12
    assert set(first) != set(second)


def test_the_entropic_plan_pays_for_equal_masses():
    made = make_distillation(scope="global")
    report = report_on(made)
    assert report.plan.cost > report.cost
    assert 0 <= report.plan.marginal_error <= 1e-5


def test_equal_weights_move_nothing_and_others_no_more_than_the_bound():
    made = make_distillation()
    moved = report_on(made).reweighting
    assert 0.01 < moved.w1 <= moved.bound
    assert moved.total_variation == pytest.approx(np.abs(made.weights - 1 / 240).sum() / 2)
    still = report_on(replace(made, weights=np.full(240, 1 / 240))).reweighting
    assert still.w1 == pytest.approx(0, abs=1e-6)
    assert still.bound == pytest.approx(0, abs=1e-12)


def test_a_few_rows_with_all_the_mass_are_reported():
    made = make_distillation(scope="global")
    even = report_on(made).representation
    # All weight on what is nearest to one distilled row, and a twin that can represent nothing.
    nearest = distances_of(made).argmin(axis=1)
    weights = np.where(nearest == nearest[0], 1.0, 0.0)
    skewed = replace(
        made,
        weights=weights / weights.sum(),
        pool=np.vstack([made.pool, made.targets[:1]]),
        pool_labels=np.append(made.pool_labels, 0),
        chosen=np.append(made.chosen, 60),
    )
    found = report_on(skewed).representation
    assert found.effective_rows == pytest.approx(1)
    assert found.effective_share == pytest.approx(1 / 13)
    assert found.largest_mass == pytest.approx(1)
    assert found.idle_rows == 1
    assert even.effective_rows > 3


def test_effective_rows_of_equal_masses_is_their_number():
    assert effective_rows(np.full(5, 0.2)) == pytest.approx(5)
    assert effective_rows(np.zeros(5)) == 0


def test_strays_and_classes_without_rows_are_counted():
    made = make_distillation()
    made = replace(made, chosen=made.chosen[made.target_labels != 2])
    report = report_on(made)
    assert report.representation.stray_rows == report.coverage.uncovered_rows == 80
    assert report.representation.stray_mass == pytest.approx(made.weights[made.labels == 2].sum())
    blue = report.classes["blue"]
    assert (blue.rows, blue.cost, blue.mean_distance) == (0, None, None)
    assert np.isfinite(report.cost)


def test_a_class_of_weight_0_has_distances_but_no_cost():
    made = make_distillation()
    weights = np.where(made.labels == 1, 0, made.weights)
    green = report_on(replace(made, weights=weights / weights.sum())).classes["green"]
    assert green.mass == 0
    assert green.cost is None
    assert green.mean_distance > 0


def test_a_sample_is_stated_and_repeats():
    made = make_distillation(n_rows=900)
    options = IndicatorOptions(sample_rows=200)
    report = report_on(made, options=options)
    assert 150 < report.transport.sampled_rows <= 200
    assert report.reweighting.sampled_rows == 200
    assert report == report_on(made, options=options)


def test_every_figure_is_explained_and_none_promises():
    sentences = meanings()
    flat = {"transport.pool", "transport.pool.w1", "classes.*.cost", "run.tempering", "knee.k"}
    assert flat <= set(sentences)
    assert all(sentence.endswith(".") for sentence in sentences.values())
    words = " ".join(sentences.values()).lower()
    assert "certif" not in words
    assert "not about accuracy" in words


def test_the_report_holds_no_text():
    made = make_distillation()
    regions = least_covered_regions(made, made.cover().allowed, *tables_of(made))
    report = report_on(made).model_copy(update={"regions": regions.report})
    assert report.summary().startswith("cost ")
    written = report.model_dump_json()
    assert type(report).model_validate_json(written) == report
    assert "secret" not in written
    assert "train" not in written


def test_what_does_not_fit_is_refused():
    made = make_distillation()
    found, covered = trace(made), (made.cover(), made.cover())
    with pytest.raises(InputError, match="2 different names for labels up to 2"):
        measure(made, found, *covered, NAMES[:2], facts(made))
    with pytest.raises(InputError, match="scope is 'global'"):
        measure(made, found, *covered, NAMES, facts(made, scope="global"))
    with pytest.raises(InputError, match="lineage has 12 rows"):
        measure(replace(made, chosen=made.chosen[:5]), found, *covered, NAMES, facts(made))
