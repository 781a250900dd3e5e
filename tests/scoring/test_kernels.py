from __future__ import annotations

import warnings

import numpy as np
import pytest

from take.scoring.errors import ScoringError, ScoringWarning
from take.scoring.kernels import kernel_values

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
