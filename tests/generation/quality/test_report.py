from __future__ import annotations

import json

import numpy as np
import pytest

from take.generation.figures import classes_figure, pool_figure
from take.generation.quality.measure import measure_pool
from take.generation.quality.report import PoolQuality, meanings
from tests.generation.quality.conftest import WORDS, sentences


@pytest.fixture(scope="module")
def report(evidence_of, settings) -> PoolQuality:
    evidence = evidence_of(sentences(200, seed=2))
    return measure_pool(evidence, settings, lambda texts: np.ones(len(texts))).report


def test_every_indicator_has_a_meaning():
    found = meanings()
    assert "coverage.any_class.ratio" in found
    assert "classes.*.agreement.before" in found
    assert [name for name, meaning in found.items() if not meaning.endswith(".")] == []


def test_the_report_goes_through_json_and_holds_no_text(report):
    text = report.model_dump_json()
    assert PoolQuality.model_validate(json.loads(text)) == report
    assert not any(word in text for word in WORDS)


@pytest.mark.parametrize("figure_of", [pool_figure, classes_figure])
def test_figures_hold_no_text_and_explain_each_panel(report, figure_of):
    figure = figure_of(report)
    drawn = figure.to_json()
    assert not any(word in drawn for word in WORDS)
    panels = [key for key in figure.layout.to_plotly_json() if key.startswith("xaxis")]
    captions = [a.text for a in figure.layout.annotations if "<b>" in a.text]
    assert len(captions) == len(panels)
    assert all(len(caption) > 80 for caption in captions)


def test_figures_do_without_what_was_not_measured(report):
    bare = report.model_copy(update={"closest_record": None, "mauve": None, "perplexity": None})
    pool_figure(bare)
    classes_figure(bare)


def test_the_summary_gives_each_figure_with_that_of_real_rows(report):
    summary = report.summary()
    ours, theirs = report.mauve.pool, report.mauve.corpus
    assert f"MAUVE {ours:.3f} ({theirs:.3f})" in summary
    assert f"r̄ {report.coverage.any_class.compared.mean:.3f}" in summary
