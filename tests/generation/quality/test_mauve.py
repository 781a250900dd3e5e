"""Areas compared with those of the authors' package (mauve-text 0.4.0) for the same histograms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from take.generation.quality.mauve import divergence_frontier_area, mauve

PACKAGE = [
    ([0.5, 0.5], [0.9, 0.1], 0.6710958126174331),
    ([0.2, 0.3, 0.5, 0], [0.25, 0.25, 0.25, 0.25], 0.6081135762448925),
    ([1, 0], [0, 1], 0.0040720962619612555),
]


@pytest.mark.parametrize(("p", "q", "expected"), PACKAGE)
def test_the_area_is_the_packages(p, q, expected):
    p, q = np.array(p, dtype=float), np.array(q, dtype=float)
    assert divergence_frontier_area(p, q) == pytest.approx(expected, abs=1e-12)


@given(st.integers(0, 500), st.integers(2, 20))
def test_the_area_is_symmetric_and_at_most_one(seed, n_bins):
    p, q = np.random.default_rng(seed).dirichlet(np.ones(n_bins), size=2)
    area = divergence_frontier_area(p, q)
    assert 0 < area <= 1
    assert area == pytest.approx(divergence_frontier_area(q, p))
    assert divergence_frontier_area(p, p) == pytest.approx(1)


def test_more_difference_is_a_lower_mauve_and_a_seed_fixes_it():
    rng = np.random.default_rng(0)

    def rows(shift: float) -> np.ndarray:
        rows = rng.standard_normal((300, 8)) + shift
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)

    corpus = rows(0)
    scores = [mauve(rows(shift), corpus, seed=0) for shift in (0, 0.5, 2)]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] > 0.9
    assert scores[2] < 0.3
    again = rows(0)
    assert mauve(again, corpus, seed=4) == mauve(again, corpus, seed=4)
