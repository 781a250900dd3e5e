from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from take.scoring.scoring_inputs import ScoringError, ScoringWarning
from take.scoring.weights import RowScores, capped_weights, kernel_values, knowledge_scores, weigh

positive_scores = hnp.arrays(
    np.float64, st.integers(1, 60), elements=st.floats(1e-6, 1e6, allow_nan=False)
)


def test_kappa_by_hand():
    """Columns sum to 4 and 10, so the normalised matrix is [[¼, ⅕], [¾, ⅘]]."""
    influence = np.array([[1.0, 2.0], [3.0, 8.0]], dtype=np.float32)
    scores = knowledge_scores(influence, np.array([1.0, 0.5]), floor=0.01)
    np.testing.assert_allclose(scores.values, [4 + 0.5 * 5, 4 / 3 + 0.5 * 1.25], rtol=1e-6)
    assert scores.floored_entries == 0


def test_the_floor_bounds_kappa_and_is_counted():
    influence = np.array([[0.0, 1.0], [1.0, 1.0], [1.0, 1.0], [2.0, 1.0]], dtype=np.float32)
    scores = knowledge_scores(influence, np.array([1.0, 0.0]), floor=0.1)
    assert scores.values[0] == pytest.approx(4 / 0.1)  # 1 / (floor / N)
    assert (scores.floored_entries, scores.inverted_entries) == (1, 4)


def test_scaling_a_column_changes_nothing():
    influence = np.random.default_rng(0).random((30, 3)).astype(np.float32)
    kernel = np.array([1.0, 0.7, 0.2])
    scaled = influence * np.array([1, 100, 0.01], dtype=np.float32)
    np.testing.assert_allclose(
        knowledge_scores(influence, kernel, 0.1).values,
        knowledge_scores(scaled, kernel, 0.1).values,
        rtol=1e-5,
    )


def test_rows_permuted_permute_kappa():
    influence = np.random.default_rng(1).random((30, 3)).astype(np.float32)
    order = np.random.default_rng(2).permutation(30)
    kernel = np.ones(3)
    np.testing.assert_allclose(
        knowledge_scores(influence[order], kernel, 0.1).values,
        knowledge_scores(influence, kernel, 0.1).values[order],
        rtol=1e-9,
    )


@pytest.mark.parametrize("column", [0.0, np.nan, np.inf])
def test_columns_without_a_finite_positive_sum_are_refused(column):
    influence = np.ones((3, 2), dtype=np.float32)
    influence[:, 1] = column
    with pytest.raises(ScoringError, match="checkpoint 1"):
        knowledge_scores(influence, np.ones(2), 0.1)


@given(scores=positive_scores, cap=st.floats(1.01, 100))
def test_capped_weights_sum_to_one_below_the_cap_in_the_same_order(scores, cap):
    weights = capped_weights(scores, cap)
    assert weights.sum() == pytest.approx(1, abs=1e-9)
    assert weights.max() <= cap / len(scores)
    order = np.argsort(scores)
    assert (np.diff(weights[order]) >= -1e-15).all()


@given(scores=positive_scores, cap=st.floats(1.01, 100))
def test_rows_below_the_cap_keep_their_proportions(scores, cap):
    weights = capped_weights(scores, cap)
    free = weights < cap / len(scores) * (1 - 1e-9)
    if free.any():
        ratio = weights[free] / scores[free]
        np.testing.assert_allclose(ratio, ratio[0], rtol=1e-6)


def test_a_cap_that_nothing_reaches_changes_nothing():
    scores = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(capped_weights(scores, cap=50), scores / 6, rtol=1e-12)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([1.0, np.nan], "row 1: score is nan"),
        ([1.0, -1.0], "row 1: score is -1.0"),
        ([0.0, 0.0], "every score is zero"),
    ],
)
def test_bad_scores_are_refused(scores, message):
    with pytest.raises(ScoringError, match=message):
        capped_weights(np.array(scores), cap=2)


def test_mass_on_too_few_rows_is_refused():
    with pytest.raises(ScoringError, match=r"1 of 10 rows .*at least 5 rows"):
        capped_weights(np.eye(10)[0], cap=2)


def test_the_report_of_known_weights():
    scores = np.array([3.0] * 1 + [1.0] * 99)
    weights, report = weigh(RowScores(scores, 5, 200), cap=1000)
    np.testing.assert_allclose(weights.sum(), 1)
    assert report.effective_rows == pytest.approx(102**2 / (9 + 99))
    assert report.top_percent_share == pytest.approx(3 / 102)
    assert report.floored_share == 0.025
    assert report.capped_rows == 0
    assert report.total_variation == pytest.approx(3 / 102 - 0.01)
    assert not report.low_effective_share


def test_uniform_weights_have_full_effective_size():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _, report = weigh(RowScores(np.full(50, 0.3)), cap=2)
    assert report.effective_share == pytest.approx(1)


def test_a_low_effective_size_warns():
    scores = np.array([1e6] + [1.0] * 999)
    with pytest.warns(
        ScoringWarning, match=r"effective sample size before the cap is .* of 1000 rows"
    ):
        _, report = weigh(RowScores(scores), cap=900)
    assert report.low_effective_share
    assert report.capped_rows == 1


def test_the_cap_cannot_hide_that_a_few_rows_hold_all():
    scores = np.full(1000, 1e-6)
    scores[:5] = 1.0
    with pytest.warns(ScoringWarning, match="before the cap is 5 of 1000"):
        _, report = weigh(RowScores(scores), cap=5.0)
    assert report.effective_share > 0.2 > report.effective_share_before_cap


def test_weights_sum_to_one_where_rounding_puts_every_score_at_the_cap():
    scores = np.zeros(199)
    scores[:193] = 1.0
    assert capped_weights(scores, cap=199 / 193).sum() == pytest.approx(1)


T = 20
t = np.arange(T)


@pytest.mark.parametrize(
    ("name", "closed_form"),
    [
        ("exponential", np.exp(-2.5 * t / T)),
        ("linear", 1 - t / T),
        ("cosine", 0.5 * (1 + np.cos(np.pi * t / T))),
        ("constant", np.ones(T)),
        ("last", (t == T - 1).astype(float)),
    ],
)
def test_closed_forms(name, closed_form):
    np.testing.assert_allclose(kernel_values(name, T, decay=2.5), closed_form, rtol=1e-12)


@pytest.mark.parametrize("name", ["exponential", "linear", "cosine"])
def test_proposition_2_kernels_are_positive_and_decrease(name):
    values = kernel_values(name, T, decay=1.0)
    assert (values > 0).all()
    assert (np.diff(values) < 0).all()


def test_a_custom_kernel_that_decreases_is_taken_quietly():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kernel_values((3.0, 2.0, 0.5), 3, decay=1.0).tolist() == [3.0, 2.0, 0.5]


@pytest.mark.parametrize("values", [(1.0, 2.0, 0.5), (1.0, 1.0, 0.5)])
def test_a_custom_kernel_that_does_not_decrease_warns(values):
    with pytest.warns(ScoringWarning, match=r"does not decrease: k\(0\) = 1"):
        kernel_values(values, 3, decay=1.0)


@pytest.mark.parametrize(
    "values", [(1.0, 0.5), (1.0, -0.5, 0.1), (1.0, float("nan"), 0.1), (0.0, 0.0, 0.0)]
)
def test_a_custom_kernel_that_cannot_be_used_is_refused(values):
    with pytest.raises(ScoringError, match="kernel"):
        kernel_values(values, 3, decay=1.0)
