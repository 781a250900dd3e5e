from __future__ import annotations

import numpy as np
import pytest

from take.errors import InputError
from take.evaluation.statistics import (
    Cell,
    Interval,
    Part,
    half_width,
    judged,
    parts_of_sets,
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


def test_sets_with_different_numbers_of_trainings_count_equally():
    cells = {Cell(0, 0): 0.6, Cell(1, 0): 0.8, Cell(1, 1): 0.8, Cell(1, 2): 0.8}
    assert summarise(cells).mean == pytest.approx(0.7)


def test_noise_alone_shows_no_variation_of_sets():
    cells = {Cell(i, j): (0.70, 0.74)[j] for i in range(3) for j in range(2)}
    found = summarise(cells)
    assert found.set_deviation == 0
    assert found.training_deviation == pytest.approx(0.02 * np.sqrt(2))


def test_deviations_that_cannot_be_estimated_are_missing():
    one_each = summarise({Cell(0, 0): 0.7, Cell(1, 1): 0.8})
    assert (one_each.set_deviation, one_each.training_deviation) == (None, None)
    one_set = summarise({Cell(0, 0): 0.7, Cell(0, 1): 0.8, Cell(0, 2): 0.9})
    assert one_set.set_deviation is None
    assert one_set.training_deviation == pytest.approx(0.1)


def test_with_one_source_the_interval_is_that_of_a_paired_t_test():
    from scipy.stats import ttest_rel

    ours, theirs = (
        np.array(list(nested(5, 1, 0.03, 0.0, seed, mean).values()))
        for seed, mean in ((0, 0.75), (1, 0.7))
    )
    expected = ttest_rel(ours, theirs)
    gains = ours - theirs
    found = judged(gains.mean(), [Part(gains.var(ddof=1) / 5, 4), Part(0.0, 871)])
    low, high = expected.confidence_interval(0.95)
    assert found.interval == pytest.approx((low, high))
    assert found.p == pytest.approx(expected.pvalue)


@pytest.mark.parametrize("n_sets", [2, 3, 5])
@pytest.mark.parametrize("share", [1.0, 0.9, 0.6, 0.2, 0.0])
def test_the_level_is_kept_whatever_the_share_of_sets(n_sets, share):
    random, trials = np.random.default_rng(0), 400_000
    lead = np.abs(random.normal(0, 1, trials))
    of_sets = share * random.chisquare(n_sets - 1, trials) / (n_sets - 1)
    parts = [Part(of_sets, n_sets - 1), Part(1 - share, 10_000)]
    assert 0.949 <= (lead <= half_width(parts, 0.05)).mean() <= 0.99
    assert (lead > half_width(parts, 0.001)).mean() <= 0.0012


@pytest.mark.parametrize("pools", [(0, 0, 1), (0, 0, 1, 1), (0, 1) * 3, (0, 1) * 5, (0, 1, 2) * 2])
@pytest.mark.parametrize(("by_pool", "least"), [(0.0, 0.97), (0.5, 0.965), (1.0, 0.955)])
def test_the_level_is_kept_with_few_pools(pools, by_pool, least):
    """Deviations of pools, in those of sets. Where it is larger, the level is not kept."""
    random, trials = np.random.default_rng(0), 4000
    of_pools = by_pool * random.normal(size=(trials, max(pools) + 1))[:, list(pools)]
    scores = of_pools + random.normal(size=(trials, len(pools)))
    parts = [parts_of_sets(one, pools) for one in scores]
    reach = np.array([half_width(one, 0.05) for one in parts])
    assert (np.abs(scores.mean(axis=1)) <= reach).mean() >= least
    known = np.array([half_width(parts_of_sets(one), 0.05) for one in scores])
    assert np.median(reach) < 2.6 * np.median(known)
    if by_pool == 1 and len(pools) > 3:
        assert (np.abs(scores.mean(axis=1)) <= known).mean() < 0.91


@pytest.mark.parametrize("pools", [(0, 1) * 3, (0, 0, 0, 1, 1), (0, 1, 2, 0, 1, 2, 0)])
def test_the_variance_over_pools_is_that_of_the_model(pools):
    """Where pools vary as sets do, V_sets is unbiased; V_pools is added by chance."""
    random, trials = np.random.default_rng(0), 20_000
    scores = random.normal(size=(trials, max(pools) + 1))[:, list(pools)]
    scores = scores + random.normal(size=scores.shape)
    found = np.mean([parts_of_sets(one, pools)[0].variance for one in scores])
    assert found == pytest.approx(scores.mean(axis=1).var(), rel=0.03)


@pytest.mark.parametrize("pools", [None, (0, 0, 0, 0), (0, 1, 2, 3), (None,) * 4])
def test_without_several_sets_of_several_pools_sets_are_the_units(pools):
    scores = np.array([0.7, 0.72, 0.8, 0.82])
    assert parts_of_sets(scores, pools) == [Part(scores.var(ddof=1) / 4, 3)]
    assert parts_of_sets(scores[:1], pools) == [Part(0.0, 1)]


def test_equal_scores_do_not_vary_whatever_their_pools():
    assert [part.variance for part in parts_of_sets(np.full(4, 0.7), [0, 0, 1, 1])] == [0.0, 0.0]


def test_satterthwaite_would_not_keep_it():
    """Why squares of half-widths are added: p-values of few sets are corrected, far in the tail."""
    from scipy.stats import t

    random, trials, share, freedom = np.random.default_rng(0), 400_000, 0.9, 4
    lead = np.abs(random.normal(0, 1, trials))
    of_sets = share * random.chisquare(freedom, trials) / freedom
    total = of_sets + 1 - share
    p = 2 * t.sf(lead / np.sqrt(total), total**2 / (of_sets**2 / freedom))
    assert (p < 0.001).mean() > 0.003


@pytest.mark.parametrize("mean", [0.0, 1e-6, 0.02, -0.05, 0.9])
def test_p_value_and_interval_agree(mean):
    parts = [Part(0.01**2, 4), Part(0.015**2, 500)]
    found = judged(mean, parts)
    assert half_width(parts, found.p) == pytest.approx(abs(mean), abs=1e-6) or found.p in (1, 1e-12)
    assert (found.verdict == "no difference shown") == (found.p > 0.05)
    assert judged(-mean, parts).p == found.p


def test_what_does_not_vary_shows_nothing():
    assert judged(0.0, [Part(0.0, 4)]).verdict == "no difference shown"
    always = judged(0.5, [Part(0.0, 4)], pairs=3)
    assert (always.interval, always.verdict, always.pairs) == (None, "not measured", 3)


def test_scores_that_are_not_finite_are_refused():
    with pytest.raises(InputError, match="not finite"):
        summarise({Cell(0, 0): float("nan")})
    with pytest.raises(InputError, match="no scores"):
        summarise({})


def test_an_interval_that_touches_0_shows_nothing():
    assert Interval(0.0, 0.1).verdict == "no difference shown"
