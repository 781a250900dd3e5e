"""Intervals over training sets and evaluation rows, against simulated learners."""

from __future__ import annotations

import numpy as np
import pytest

from take.evaluation import bootstrap
from take.evaluation.bootstrap import Sample, averaged, compare, resampled_scores
from take.evaluation.cells import Metric
from take.evaluation.sealed_split import scores
from tests.evaluation.simulated import (
    sample_of,
    two_equal_methods,
    two_equal_methods_of_pools,
)

# Deviations by set, by row, by both: what most of the variance comes from.
SOURCES = {"sets": (0.6, 0.0, 0.3), "rows": (0.01, 1.0, 0.02), "both": (0.15, 0.5, 0.5)}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(("n_sets", "metric"), [(3, "accuracy"), (5, "macro_f1")])
def test_an_interval_covers_the_truth_whatever_varies(
    source: str, n_sets: int, metric: Metric, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Measured in 1,000 trials, 2 to 5 sets: 94 to 98 %; 99.5 % where sets and rows vary together.
    monkeypatch.setattr(bootstrap, "REPLICATES", 200)
    random, hits, trials = np.random.default_rng(1), 0, 200
    for _ in range(trials):
        ours, theirs = two_equal_methods(random, (n_sets, n_sets), 300, *SOURCES[source], metric)
        found = compare(ours, theirs)
        assert found is not None
        assert found.interval is not None
        assert (found.interval.verdict == "no difference shown") == (found.p >= 0.05)
        hits += found.interval.low <= 0 <= found.interval.high
    assert hits / trials >= 0.92


def test_an_interval_over_two_pools_covers_the_truth(monkeypatch: pytest.MonkeyPatch) -> None:
    # Measured in 1,000 trials: 98.0 %, and 82.8 % without regard to pools.
    monkeypatch.setattr(bootstrap, "REPLICATES", 100)
    random, trials = np.random.default_rng(1), 200
    hits = {"pools": 0, "sets": 0}
    for _ in range(trials):
        pair = two_equal_methods_of_pools(random, (0, 1) * 3, by_pool=0.5, by_set=0.5)
        without = [Sample(one.scores, one.seeds, one.resampled, one.n_rows) for one in pair]
        for name, (ours, theirs) in {"pools": pair, "sets": without}.items():
            found = compare(ours, theirs)
            assert found is not None
            assert found.interval is not None
            hits[name] += found.interval.low <= 0 <= found.interval.high
    assert hits["pools"] / trials >= 0.94
    assert hits["sets"] / trials <= 0.89


def test_a_rival_without_pools_is_compared_over_ours() -> None:
    scattered = sample_of(ZEROS, predictions(10, 30, 12, 32), pools=(0, 1, 0, 1))
    rival = sample_of(ZEROS, predictions(40, 40, 41, 41))
    apart, together = (
        Sample(scattered.scores, scattered.seeds, scattered.resampled, 100, pools)
        for pools in (None, (0, 0, 0, 0))
    )
    errors = [compare(one, rival).standard_error for one in (scattered, apart, together)]  # type: ignore[union-attr]
    assert errors[0] > 1.3 * errors[1]  # type: ignore[operator]
    assert errors[1] == errors[2]
    assert compare(rival, scattered).standard_error == errors[0]  # type: ignore[union-attr]
    fixed = sample_of(ZEROS, predictions(40), seeds=False)
    assert compare(scattered, fixed).standard_error > compare(apart, fixed).standard_error  # type: ignore[union-attr, operator]
    both = averaged([scattered, scattered])
    assert both is not None
    assert both.standard_error == scattered.standard_error
    # Seeds of one pool alone say nothing about pools.
    one_pool = sample_of(ZEROS, predictions(10, 12))
    one_pool = Sample(one_pool.scores, (0, 2), one_pool.resampled, 100)
    assert scattered.at((0, 2)).standard_error == pytest.approx(one_pool.standard_error)


def test_sets_alone_or_rows_alone_cover_too_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where both vary, either source alone would show differences that are not there."""
    monkeypatch.setattr(bootstrap, "REPLICATES", 200)
    random, missed = np.random.default_rng(1), {"sets": 0, "rows": 0}
    for _ in range(200):
        ours, theirs = two_equal_methods(random, (5, 5), 300, 0.15, 1.0, 0.02)
        lead = abs(ours.mean - theirs.mean)
        by_sets = Sample(ours.scores - theirs.scores, None).variance_by_sets
        missed["sets"] += lead > 2.776 * np.sqrt(by_sets)
        missed["rows"] += lead > 1.96 * np.std(ours.means - theirs.means)  # type: ignore[operator]
    assert missed["sets"] > 20  # of 200; 10 are expected of a 95 % interval
    assert missed["rows"] > 20


def test_drawing_one_set_fewer_has_the_variance_that_is_used() -> None:
    random = np.random.default_rng(0)
    values = random.normal(size=4)
    drawn = random.choice(values, (200_000, 3)).mean(axis=1)
    assert Sample(values, None).variance_by_sets == pytest.approx(drawn.var(), rel=0.02)


@pytest.mark.parametrize("n_classes", [2, 3, 20])
def test_scores_are_those_of_the_sealed_split(n_classes: int) -> None:
    random = np.random.default_rng(0)
    labels, predicted = random.integers(0, n_classes, (2, 90))
    labels[:45] = predicted[:45]
    metrics: list[Metric] = ["accuracy", "macro_f1"]
    metrics += ["accuracy_f1"] if n_classes == 2 else []
    (found,) = resampled_scores(labels, [predicted], metrics)
    resample = next(block for block in list(bootstrap._multiplicities(90))[1:])[:, 7]
    rows = np.repeat(np.arange(90), resample.astype(int))
    for at, (true, guess) in {0: (labels, predicted), 8: (labels[rows], predicted[rows])}.items():
        expected = scores(true, guess, n_classes)
        for metric in metrics:
            assert found[metric][at] == pytest.approx(getattr(expected, metric))


def test_blocks_of_replicates_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    labels, predicted = np.random.default_rng(0).integers(0, 3, (2, 50))
    (whole,) = resampled_scores(labels, [predicted], ["macro_f1"])
    monkeypatch.setattr(bootstrap, "_BLOCK", 50 * 70)
    (parts,) = resampled_scores(labels, [predicted], ["macro_f1"])
    assert whole["macro_f1"].tolist() == parts["macro_f1"].tolist()


def predictions(*wrong: int) -> list[np.ndarray]:
    """Wrong on so many of the first rows of a hundred, all of class 0."""
    return [(np.arange(100) < count).astype(np.int64) for count in wrong]


ZEROS = np.zeros(100, dtype=np.int64)


def test_the_rows_error_is_that_of_a_share() -> None:
    found = sample_of(ZEROS, predictions(20), seeds=False)
    assert found.standard_error == pytest.approx(np.sqrt(0.2 * 0.8 / 100), rel=0.05)


def test_rows_are_paired() -> None:
    """Two methods wrong on the same rows but one differ by that row, not by two samples of rows."""
    ours, theirs = (sample_of(ZEROS, predictions(n), seeds=False) for n in (20, 21))
    found = compare(ours, theirs)
    assert found is not None
    assert found.standard_error == pytest.approx(np.sqrt(0.01 * 0.99 / 100), rel=0.1)


def test_set_seeds_are_paired() -> None:
    """What a seed adds to both cancels out; sets without seeds vary separately."""
    ours, theirs = (
        sample_of(ZEROS, predictions(5, 15, 25)),
        sample_of(ZEROS, predictions(7, 17, 27)),
    )
    apart = sample_of(ZEROS, predictions(7, 17, 27), seeds=False)
    paired, separate = compare(ours, theirs), compare(ours, apart)
    assert paired is not None
    assert separate is not None
    assert paired.mean == separate.mean == pytest.approx(0.02)
    assert separate.standard_error > 5 * paired.standard_error  # type: ignore[operator]
    assert (paired.pairs, separate.pairs) == (3, 3)


def test_only_common_seeds_are_compared_and_one_is_too_few() -> None:
    ours = sample_of(ZEROS, predictions(5, 15, 25))
    full = sample_of(ZEROS, predictions(10, 20, 90))
    moved = {
        seeds: compare(ours, Sample(full.scores, seeds, full.resampled, 100))
        for seeds in ((0, 1, 9), (0, 8, 9), (7, 8, 9))
    }
    two, one, none = moved.values()
    assert two is not None
    assert (two.pairs, two.mean) == (2, pytest.approx(0.05))
    assert two.interval is not None
    assert one is not None
    assert (one.pairs, one.interval, one.p, one.verdict) == (1, None, None, "not measured")
    assert none is None


def test_without_predictions_there_is_a_mean_but_no_interval() -> None:
    ours = sample_of(ZEROS, predictions(5, 15, 25))
    found = compare(ours, Sample(np.array([0.5, 0.6, 0.7]), (0, 1, 2)))
    assert found is not None
    assert (found.mean, found.verdict) == (pytest.approx(0.25), "not measured")
    assert (found.standard_error, found.interval, found.p) == (None, None, None)


def test_equal_predictions_show_nothing() -> None:
    found = compare(*[sample_of(ZEROS, predictions(5, 5), seeds=False)] * 2)
    assert found is not None
    assert (found.verdict, found.p) == ("no difference shown", 1)


def test_learners_are_averaged_set_by_set() -> None:
    one, other = (
        sample_of(ZEROS, predictions(10, 20, 30)),
        sample_of(ZEROS, predictions(30, 20, 10)),
    )
    found = averaged([one, other])
    assert found is not None
    assert found.scores == pytest.approx([0.8, 0.8, 0.8])
    assert found.variance_by_sets == pytest.approx(0)
    assert averaged([one, Sample(one.scores, (0, 1, 2))]).resampled is None  # type: ignore[union-attr]
    assert averaged([]) is None
    assert averaged([one, sample_of(ZEROS, predictions(10), seeds=False)]) is None
