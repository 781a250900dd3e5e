from __future__ import annotations

import numpy as np
import pytest

from take.scoring.report import ScoringReport, class_shares, extreme_rows, rank_correlation
from take.scoring.scorers import Evidence, score


def test_rank_correlation_depends_on_order_only():
    values = np.array([0.3, 0.1, 0.2])
    assert rank_correlation(values, -values) == pytest.approx(-1)
    assert rank_correlation(values, np.exp(10 * values)) == pytest.approx(1)
    assert rank_correlation(values, np.ones(3)) == 0


def test_class_shares_add_up_and_keep_empty_classes():
    shares = class_shares(np.array([0.3, 0.1, 0.6]), np.array([0, 2, 2]), n_classes=4)
    np.testing.assert_allclose(shares, [0.3, 0, 0.7, 0])


def test_extreme_rows_stay_inside_their_class():
    weights = np.array([0.05, 0.3, 0.1, 0.25, 0.2, 0.1])
    labels = np.array([0, 1, 0, 1, 0, 1])
    first, second = extreme_rows(weights, labels, count=2)
    assert (first.highest.tolist(), first.lowest.tolist()) == ([4, 2], [0, 2])
    assert (second.highest.tolist(), second.lowest.tolist()) == ([1, 3], [5, 3])


def test_the_histogram_counts_every_row(corpus):
    evidence = Evidence(corpus.features, corpus.labels, corpus.settings)
    scored = score(evidence)
    report = ScoringReport.of(
        scored, evidence.trajectory, corpus.labels, ["a", "b", "c"], corpus.labels, "linear", 1.0
    )
    assert sum(report.histogram_counts) == 600
    assert report.histogram_edges[-1] == pytest.approx(scored.weights.max() * 600)
