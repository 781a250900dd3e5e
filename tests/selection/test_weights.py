from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from take.selection.problem import tempered

WEIGHTS = arrays(np.float64, st.integers(1, 30), elements=st.floats(0, 1)).filter(
    lambda weights: weights.sum() > 1e-6
)


@given(weights=WEIGHTS, alpha=st.floats(0, 1))
def test_tempered_weights_sum_to_one_and_keep_their_order(weights, alpha):
    shares = tempered(weights / weights.sum(), alpha)
    assert shares.sum() == pytest.approx(1)
    assert (shares >= 0).all()
    order = np.argsort(weights, kind="stable")
    assert (np.diff(shares[order]) >= -1e-15).all()


def test_the_ends_are_kappa_and_equal_weights():
    weights = np.array([0.0, 0.1, 0.2, 0.7])
    np.testing.assert_array_equal(tempered(weights, 1.0), weights)
    # At 0 every row counts alike, those of weight 0, too; above, they count for nothing.
    np.testing.assert_array_equal(tempered(weights, 0.0), np.full(4, 0.25))
    assert tempered(weights, 0.01)[0] == 0


def test_tempering_is_the_power_of_the_ratio():
    shares = tempered(np.array([0.1, 0.9]), 0.5)
    assert shares[1] / shares[0] == pytest.approx(3)


def test_a_small_power_of_tiny_weights_stays_finite():
    shares = tempered(np.array([1e-300, 1e-12, 1.0]), 0.1)
    assert np.isfinite(shares).all()
    assert shares[0] > 0
