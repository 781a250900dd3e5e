"""Intervals of shares and of what compares them; exact where scipy says what is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from take.audit.balance.comparison import compare, share_against
from take.audit.intervals import clopper_pearson
from take.rows.corrections import holm


@pytest.mark.parametrize("scale", ["difference", "ratio", "odds"])
@pytest.mark.parametrize(("n", "p"), [(40, 0.05), (40, 0.5), (400, 0.02), (5000, 0.1)])
def test_an_interval_misses_the_truth_no_more_often_than_its_level(
    scale: Any, n: int, p: float
) -> None:
    random = np.random.default_rng(0)
    k, j = random.binomial(n, p, 1000), random.binomial(7000, p, 1000)
    found = compare((k, n), (j, 7000), scale, 0.95)
    truth = 0 if scale == "difference" else 1
    misses = (found.low > truth) | (found.high < truth)
    assert misses.mean() <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 1000)
    assert np.mean(found.p <= 0.01) <= 0.01 + 3 * np.sqrt(0.01 * 0.99 / 1000)
    # The p-value and the interval are one and the same statement.
    np.testing.assert_array_equal(misses, found.p < 0.05)


@pytest.mark.parametrize("scale", ["difference", "ratio", "odds"])
def test_the_far_tail_is_exact_against_a_large_corpus(scale: Any) -> None:
    """Where the corpus is known as good as exactly, p is that of the binomial test."""
    k, n, p = np.array([0, 1, 4, 9, 20]), 40, 0.05
    tails = np.minimum(binom.cdf(k, n, p), binom.sf(k - 1, n, p))
    found = compare((k, n), (p * 1e9, 1e9), scale, 0.95)
    np.testing.assert_allclose(found.p, np.clip(2 * tails, 1e-12, 1), rtol=1e-3)


def test_without_any_case_there_is_still_an_upper_end() -> None:
    found = compare(([0, 3, 0], [40, 40, 40]), ([700, 0, 0], [7000, 7000, 7000]), "ratio", 0.95)
    assert found.value[:2].tolist() == [0, np.inf]
    assert found.low[0] == 0
    assert 0.8 < found.high[0] < 1.0  # the rule of three over n, two-sided: 3.7/40 against 10 %
    assert found.low[1] > 1
    assert found.high[1] == np.inf
    assert found.p[2] > 0.9
    assert compare(([], []), ([], []), "ratio", 0.95).p.size == 0


def test_clopper_pearson_covers() -> None:
    k = np.arange(31)
    low, high = clopper_pearson(k, 30, 0.95)
    for p in np.linspace(0.01, 0.99, 25):
        covered = (low <= p) & (p <= high)
        assert binom.pmf(k, 30, p)[covered].sum() >= 0.95


def test_a_share_against_a_known_one_is_the_binomial_test() -> None:
    found = share_against([260, 200], [400, 400], [0.5, 0.5], 0.95)
    assert found.value.tolist() == [1.3, 1.0]
    assert found.p[0] == pytest.approx(2 * binom.sf(259, 400, 0.5))
    assert found.low[0] > 1


def test_holm_keeps_the_whole_family() -> None:
    random = np.random.default_rng(0)
    alarms = [(holm(random.random(40)) <= 0.05).any() for _ in range(2000)]
    assert np.mean(alarms) == pytest.approx(0.05, abs=0.015)


# --- figures
