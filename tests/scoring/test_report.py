from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from take.scoring.diagnostics import rank_correlation
from take.scoring.report import ScoringReport, class_shares, extreme_rows
from take.scoring.scorers import Evidence, score


def test_rank_correlation_depends_on_order_only():
    values = np.array([0.3, 0.1, 0.2])
    assert rank_correlation(values, -values) == pytest.approx(-1)
    assert rank_correlation(values, np.exp(10 * values)) == pytest.approx(1)
    assert rank_correlation(values, np.ones(3)) == 0


def test_class_shares_add_up_and_keep_empty_classes():
    shares = class_shares(np.array([0.3, 0.1, 0.6]), np.array([0, 2, 2]), ["a", "b", "c", "d"])
    assert shares == pytest.approx({"a": 0.3, "b": 0, "c": 0.7, "d": 0})


def test_extreme_rows_stay_inside_their_class():
    weights = np.array([0.05, 0.3, 0.1, 0.25, 0.2, 0.1])
    corpus = pd.DataFrame({"id": range(6), "label": [0, 1, 0, 1, 0, 1]})
    table = extreme_rows(corpus, weights, count=2)
    ids = {key: part["id"].tolist() for key, part in table.groupby(["label", "extreme"])}
    assert (ids[0, "highest"], ids[0, "lowest"]) == ([4, 2], [0, 2])
    assert (ids[1, "highest"], ids[1, "lowest"]) == ([1, 3], [5, 3])
    assert table["weight_times_n"].max() == pytest.approx(0.3 * 6)


def test_the_histogram_counts_every_row(corpus):
    evidence = Evidence(corpus.features, corpus.labels, corpus.settings)
    scored = score(evidence)
    report = ScoringReport.of(scored, evidence, ["a", "b", "c"], corpus.labels)
    assert sum(report.histogram_counts) == 600
    assert report.histogram_edges[-1] == pytest.approx(scored.weights.max() * 600)
