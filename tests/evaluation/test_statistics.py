from __future__ import annotations

import numpy as np
import pytest

from take.errors import InputError
from take.evaluation.statistics import (
    Cell,
    Interval,
    paired_difference,
    share_kept,
    summarise,
)


def nested(n_sets, n_trainings, between, within, seed, mean=0.7):
    rng = np.random.default_rng(seed)
    sets = rng.normal(0, between, n_sets)
    noise = rng.normal(0, within, (n_sets, n_trainings))
    return {
        Cell(i, j): mean + sets[i] + noise[i, j] for i in range(n_sets) for j in range(n_trainings)
    }


def test_the_two_sources_of_variation_are_separated():
    found = [summarise(nested(6, 4, between=0.03, within=0.01, seed=seed)) for seed in range(400)]
    assert np.mean([s.set_deviation**2 for s in found]) == pytest.approx(0.03**2, rel=0.1)
    assert np.mean([s.training_deviation**2 for s in found]) == pytest.approx(0.01**2, rel=0.1)


def test_the_standard_error_is_the_deviation_of_the_mean():
    found = [summarise(nested(6, 4, between=0.03, within=0.01, seed=seed)) for seed in range(400)]
    strayed = np.std([s.mean for s in found])
    assert np.sqrt(np.mean([s.standard_error**2 for s in found])) == pytest.approx(strayed, rel=0.1)
    # Trainings on the same sets are no further sets.
    naive = np.sqrt(
        np.mean([np.var(list(nested(6, 4, 0.03, 0.01, s).values())) / 24 for s in range(400)])
    )
    assert naive < 0.7 * strayed


def test_sets_with_different_numbers_of_trainings_count_equally():
    cells = {Cell(0, 0): 0.6, Cell(1, 0): 0.8, Cell(1, 1): 0.8, Cell(1, 2): 0.8}
    found = summarise(cells)
    assert found.mean == pytest.approx(0.7)
    assert found.standard_error == pytest.approx(0.1)
    assert (found.n_sets, found.n_cells, found.degrees_of_freedom) == (2, 4, 1)


def test_noise_alone_shows_no_variation_of_sets():
    cells = {Cell(i, j): (0.70, 0.74)[j] for i in range(3) for j in range(2)}
    found = summarise(cells)
    assert found.set_deviation == 0
    assert found.training_deviation == pytest.approx(0.02 * np.sqrt(2))


def test_deviations_that_cannot_be_estimated_are_missing():
    one_each = summarise({Cell(0, 0): 0.7, Cell(1, 1): 0.8})
    assert (one_each.over, one_each.set_deviation, one_each.training_deviation) == (
        "sets",
        None,
        None,
    )
    one_set = summarise({Cell(0, 0): 0.7, Cell(0, 1): 0.8, Cell(0, 2): 0.9})
    assert (one_set.over, one_set.set_deviation) == ("trainings", None)
    assert one_set.standard_error == pytest.approx(0.1 / np.sqrt(3))
    assert one_set.degrees_of_freedom == 2
    single = summarise({Cell(0, 0): 0.7})
    assert (single.over, single.standard_error) == ("nothing", None)


def test_the_interval_is_that_of_a_paired_t_test():
    from scipy.stats import ttest_rel

    ours, theirs = (nested(5, 1, 0.03, 0.0, seed, mean) for seed, mean in ((0, 0.75), (1, 0.7)))
    found = paired_difference(ours, theirs)
    expected = ttest_rel(list(ours.values()), list(theirs.values())).confidence_interval(0.95)
    assert found.interval == pytest.approx((expected.low, expected.high))


def test_the_interval_covers_the_truth_in_95_percent():
    hits = 0
    for seed in range(400):
        ours = nested(5, 3, 0.02, 0.02, seed, mean=0.73)
        theirs = nested(5, 3, 0.02, 0.02, 1000 + seed, mean=0.70)
        low, high = paired_difference(ours, theirs).interval
        hits += low <= 0.03 <= high
    assert 0.92 <= hits / 400 <= 0.98


def test_better_only_if_the_interval_excludes_0():
    base = {Cell(seed, 0): 0.70 + 0.001 * seed for seed in range(5)}
    above = {cell: score + 0.02 + 0.001 * (cell.set_seed % 2) for cell, score in base.items()}
    noisy = {cell: score + 0.02 * (-1) ** cell.set_seed for cell, score in base.items()}
    assert paired_difference(above, base).verdict == "better"
    assert paired_difference(base, above).verdict == "worse"
    assert paired_difference(noisy, base).verdict == "no difference shown"


def test_identical_differences_have_no_interval():
    ours, theirs = ({Cell(seed, 0): score for seed in range(5)} for score in (0.8, 0.7))
    found = paired_difference(ours, theirs)
    assert found.mean == pytest.approx(0.1)
    assert (found.interval, found.verdict) == (None, "no difference shown")


def test_only_common_cells_are_compared():
    ours = {Cell(0, 0): 0.8, Cell(1, 0): 0.9, Cell(2, 0): 0.1}
    theirs = {Cell(1, 0): 0.7, Cell(0, 0): 0.7, Cell(9, 0): 0.0}
    found = paired_difference(ours, theirs)
    assert (found.pairs, found.mean) == (2, pytest.approx(0.15))
    with pytest.raises(InputError, match="no seeds in common"):
        paired_difference(ours, {Cell(5, 5): 0.7})


def test_the_share_kept_has_the_error_of_a_ratio():
    ours, full = nested(5, 1, 0.02, 0, 0, 0.8), nested(5, 1, 0.01, 0, 1, 0.9)
    found = share_kept(summarise(ours), summarise(full))
    assert found.value == pytest.approx(summarise(ours).mean / summarise(full).mean)
    rng = np.random.default_rng(0)
    draws = [
        rng.normal(s.mean, s.standard_error, 20_000) for s in (summarise(ours), summarise(full))
    ]
    assert found.standard_error == pytest.approx(np.std(draws[0] / draws[1]), rel=0.03)


def test_scores_that_are_not_finite_are_refused():
    with pytest.raises(InputError, match="not finite"):
        summarise({Cell(0, 0): float("nan")})
    with pytest.raises(InputError, match="no scores"):
        summarise({})


def test_an_interval_that_touches_0_shows_nothing():
    assert Interval(0.0, 0.1).verdict == "no difference shown"
