from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from take.scoring.diagnostics import (
    Gap,
    bootstrap_gap,
    flipped_label_auc,
    hard_sample_bias,
    resampled_means,
    trajectory_gap,
    verdict_positive,
)
from take.scoring.self_influence import SelfInfluence

is_noisy = np.arange(400) < 100


@settings(deadline=None)  # scipy is imported by the first example
@given(seed=st.integers(0, 1000), levels=st.integers(2, 50))
def test_auc_is_the_share_of_pairs_in_order(seed, levels):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, levels, size=40).astype(float)
    flipped = np.arange(40) < 10
    clean, wrong = scores[~flipped][:, None], scores[flipped]
    pairs = ((clean > wrong) + 0.5 * (clean == wrong)).mean()
    assert flipped_label_auc(scores, flipped) == pytest.approx(pairs)


def test_the_interval_covers_the_gap_it_should():
    """A gap of 1 with unit noise: 95 % intervals should miss it about once in twenty."""
    missed = 0
    for seed in range(60):
        values = np.random.default_rng(seed).standard_normal(400) + is_noisy
        gap = bootstrap_gap(values, is_noisy, resamples=200, seed=seed)
        assert gap.low < gap.value < gap.high
        missed += not gap.low <= 1 <= gap.high
    assert missed <= 10


@pytest.mark.parametrize(
    ("gap", "verdict"),
    [
        (Gap(1, 0.1, 2, 100), "holds"),
        (Gap(-1, -2, -0.1, 100), "does not hold here"),
        (Gap(0.5, -0.1, 1, 100), "undecided"),
    ],
)
def test_verdicts(gap, verdict):
    assert verdict_positive(gap) == verdict


def test_proposition_2_that_holds_by_scale_only_is_detected():
    """κ = 8 κ†: Eq. 10 holds as written, but normalised there is no difference at all."""
    last = np.where(is_noisy, 1.0, 2.0) + 0.01 * np.random.default_rng(0).standard_normal(400)
    gap = trajectory_gap(8 * last, last, is_noisy, resamples=100, seed=0)
    assert gap.as_written == "holds"
    assert gap.normalised == "undecided"
    assert gap.premise == "does not hold here"


def test_proposition_2_when_the_last_checkpoint_has_memorised():
    last = np.where(is_noisy, 2.0, 1.0)
    kappa = np.where(is_noisy, 1.0, 2.0)
    gap = trajectory_gap(kappa, last, is_noisy, resamples=100, seed=0)
    assert (gap.as_written, gap.normalised, gap.premise) == ("holds", "holds", "holds")


def test_proposition_2_can_fail():
    gap = trajectory_gap(
        np.where(is_noisy, 2.0, 1.0), np.where(is_noisy, 1.0, 2.0), is_noisy, 100, seed=0
    )
    assert gap.as_written == gap.normalised == "does not hold here"


def test_hard_sample_bias_and_its_bound():
    """δ = 2, ε = 0.5, H with eigenvalues 1 … 4: (4 − 4 · 0.25) / 4 = 0.75."""
    norms = np.where(is_noisy, 2.0, 0.5).astype(np.float32)
    influence = SelfInfluence(norms.astype(np.float64) ** 2, 4.0, 1.0)
    bias = hard_sample_bias(influence, norms, is_noisy, resamples=100, seed=0)
    assert bias.gap.value == pytest.approx(3.75)
    assert bias.lower_bound == pytest.approx(0.75)
    assert bias.assumptions_hold
    assert bias.verdict == "holds"
    stiff = SelfInfluence(influence.values, 100.0, 1.0)
    assert not hard_sample_bias(stiff, norms, is_noisy, 100, seed=0).assumptions_hold


def test_a_handful_of_noisy_rows_decides_nothing():
    assert verdict_positive(Gap(1, 0.5, 2, n_noisy=3)) == "undecided"


def test_samples_drawn_block_by_block_are_those_of_the_bootstrap(monkeypatch):
    """Of sorted values: without the chance of how many fall into a block, σ/√n would halve."""
    values = np.sort(np.random.default_rng(0).standard_normal(1000))
    means = resampled_means(values, 4000, np.random.default_rng(1))
    monkeypatch.setattr("take.scoring.diagnostics._RESAMPLED_AT_ONCE", 128)
    in_blocks = resampled_means(values, 4000, np.random.default_rng(1))
    for found in (means, in_blocks):
        assert found.mean() == pytest.approx(values.mean(), abs=0.005)
        assert found.std() == pytest.approx(values.std() / np.sqrt(1000), rel=0.06)
