"""Intervals against other ways of computing them, and how often they hold, by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, binomtest, norm

from take.audit.intervals import (
    Estimate,
    auc_interval,
    effective_share_interval,
    proportion_interval,
    tpr_at_fpr,
)
from take.errors import InputError


@pytest.mark.parametrize(("successes", "n"), [(0, 1), (0, 40), (1, 40), (7, 19), (40, 40)])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_a_share_has_the_exact_interval(successes: int, n: int, level: float) -> None:
    expected = binomtest(successes, n).proportion_ci(level, "exact")
    found = proportion_interval(successes, n, level)
    np.testing.assert_allclose(
        list(found.model_dump().values()), [successes / n, expected.low, expected.high], atol=1e-9
    )


@pytest.mark.parametrize("share", [0.001, 0.02, 0.3, 0.5])
def test_a_share_is_covered_whatever_it_is(share: float) -> None:
    n = 60
    covered = [
        found.low <= share <= found.high for found in (proportion_interval(x, n) for x in range(61))
    ]
    assert binom.pmf(np.arange(61), n, share) @ covered >= 0.95


@pytest.mark.parametrize(("successes", "n"), [(0, 40), (9, 40), (40, 40)])
def test_an_effective_share_has_wilsons_interval(successes: int, n: int) -> None:
    expected = binomtest(successes, n).proportion_ci(0.9, "wilson")
    found = effective_share_interval(successes / n, n, 0.9)
    np.testing.assert_allclose(
        list(found.model_dump().values()), [successes / n, expected.low, expected.high], atol=1e-9
    )


def test_auc_counts_pairs_with_ties_as_halves() -> None:
    rng = np.random.default_rng(0)
    inside, outside = rng.integers(0, 6, 30) + 1, rng.integers(0, 6, 50)
    pairs = np.sign(inside[:, None] - outside[None, :])
    assert auc_interval(inside, outside).value == pytest.approx(((pairs + 1) / 2).mean())


def test_auc_bounds_mirror_with_the_scores() -> None:
    rng = np.random.default_rng(1)
    inside, outside = rng.standard_normal(30) + 1, rng.standard_normal(40)
    found, turned = auc_interval(inside, outside), auc_interval(-inside, -outside)
    np.testing.assert_allclose(
        list(turned.model_dump().values()),
        [1 - found.value, 1 - found.high, 1 - found.low],
        atol=1e-7,
    )
    assert 0 < found.low < found.value < found.high < 1


def test_auc_of_separated_scores_still_has_width() -> None:
    found = auc_interval(range(10, 20), range(10))
    assert found.value == found.high == 1
    assert 0.6 < found.low < 0.9
    more = auc_interval(range(1000, 2000), range(1000))
    assert 0.99 < more.low < 1
    one = auc_interval([2.0], [1.0])
    assert (one.value, one.high) == (1, 1)
    assert one.low < 0.5
    assert auc_interval([1.0], [1.0]).value == 0.5


def scores(kind: str, m: int, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    inside, outside = rng.standard_normal(m), rng.standard_normal(n)
    if kind == "shifted":
        inside = inside + 1.5
    elif kind == "far":
        inside = inside + 3
    elif kind == "some memorised":
        inside = inside + 6 * (rng.random(m) < 0.3)
    elif kind == "wider":
        inside = inside * 3
    elif kind == "rounded":
        inside, outside = np.floor(inside + 1), np.floor(outside)
    return inside, outside


KINDS = ["alike", "shifted", "far", "some memorised", "wider", "rounded"]


@pytest.mark.parametrize(("m", "n"), [(10, 10), (20, 200), (100, 300)])
@pytest.mark.parametrize("kind", KINDS)
def test_auc_is_covered(kind: str, m: int, n: int) -> None:
    # Measured: 94 to 99 %. 500 trials at 95 % fall below 92 % once in 600 times.
    rng = np.random.default_rng(2)
    truth = auc_interval(*scores(kind, 200_000, 200_000, rng)).value
    found = [auc_interval(*scores(kind, m, n, rng)) for _ in range(500)]
    assert np.mean([f.low <= truth <= f.high for f in found]) >= 0.92


def test_an_auc_interval_is_no_wider_than_it_need_be() -> None:
    rng = np.random.default_rng(3)
    found = [auc_interval(*scores("alike", 100, 100, rng)) for _ in range(500)]
    width = np.mean([f.high - f.low for f in found])
    spread = np.std([f.value for f in found])
    assert width == pytest.approx(2 * 1.96 * spread, rel=0.12)
    assert 0.92 <= np.mean([f.low <= 0.5 <= f.high for f in found]) <= 0.98


def test_the_threshold_lets_no_more_outs_pass_than_allowed() -> None:
    outside = np.arange(200.0)
    # Two of 200 may exceed it: it is the third highest, 197.
    assert tpr_at_fpr([196.5, 197, 197.5, 300], outside, 0.01).value == 0.5
    # None of 99 may: it is the highest.
    assert tpr_at_fpr([97.5, 98, 98.5, 300], outside[:99], 0.01).value == 0.5
    # Equal scores are above no threshold.
    assert tpr_at_fpr([1, 1, 1], [1, 1, 1, 0], 0.5).value == 0


def test_few_outs_are_inconclusive() -> None:
    inside = np.arange(1000.0, 1100.0)
    few, many = tpr_at_fpr(inside, np.arange(100.0)), tpr_at_fpr(inside, np.arange(500.0))
    assert few == Estimate(value=1.0, low=0.0, high=1.0)
    assert many.value == many.high == 1
    assert many.low > 0.9
    assert tpr_at_fpr([1.0], [0.0]) == Estimate(value=1.0, low=0.0, high=1.0)


@pytest.mark.parametrize(("m", "n"), [(50, 100), (100, 1000), (400, 3000)])
@pytest.mark.parametrize("kind", KINDS)
def test_the_share_found_is_covered(kind: str, m: int, n: int) -> None:
    rng = np.random.default_rng(4)
    inside, outside = scores(kind, 400_000, 400_000, rng)
    # Rounded scores: the highest threshold that 1 % or less of the outs exceed.
    threshold = np.sort(outside)[-4001]
    truth = (inside > threshold).mean()
    found = [tpr_at_fpr(*scores(kind, m, n, rng)) for _ in range(300)]
    assert np.mean([f.low <= truth <= f.high for f in found]) >= 0.95
    assert all(f.low <= f.value <= f.high for f in found)


def test_the_interval_of_the_share_found_narrows() -> None:
    rng = np.random.default_rng(5)
    widths = []
    for n in (500, 5000, 50_000):
        found = tpr_at_fpr(rng.standard_normal(n) + 2, rng.standard_normal(n))
        assert found.low <= norm.sf(norm.isf(0.01) - 2) <= found.high
        widths.append(found.high - found.low)
    assert widths[0] > 2 * widths[1] > 4 * widths[2]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: proportion_interval(3, 2),
        lambda: proportion_interval(0, 0),
        lambda: proportion_interval(1, 2, level=1),
        lambda: effective_share_interval(1.1, 10),
        lambda: auc_interval([], [1.0]),
        lambda: auc_interval([1.0], [np.nan]),
        lambda: tpr_at_fpr([1.0], []),
        lambda: tpr_at_fpr([1.0], [1.0], fpr=0),
    ],
)
def test_what_has_no_interval_is_refused(wrong) -> None:
    with pytest.raises(InputError):
        wrong()
