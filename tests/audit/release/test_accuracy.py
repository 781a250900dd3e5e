"""The headline of report and card: a median over learners, not the best of them."""

from __future__ import annotations

import pytest

from take.audit.release.accuracy import headline, score_table, scores
from take.audit.release.render import render_page
from tests.audit.release.released import evaluated, facts
from tests.audit.release.sample import Page, evidence

USUAL = {"textcnn": -0.10, "textrnn": -0.08, "e5": -0.04}


def median(**learners: float) -> float:
    found = headline(evaluated(**learners))
    assert found is not None
    return found.first.median


def test_one_very_good_learner_moves_the_headline_no_more_than_a_median() -> None:
    before, after = median(**USUAL), median(**USUAL, char_lr=0.15)
    # Half way to the next learner: the best of them would have moved it by 19 points.
    assert before == pytest.approx(0.725)
    assert after == pytest.approx(0.745)
    assert after == median(**USUAL, char_lr=0.19)


def test_learners_in_the_selector_s_feature_spaces_do_not_move_it() -> None:
    assert median(**USUAL, lr=0.15) == median(**USUAL)
    found = headline(evaluated(**USUAL, lr=0.15))
    assert found is not None
    assert (found.first.learners, found.others and found.others.learners) == (3, 1)
    assert found.title == "accuracy, the median of 3 independent learners"
    assert "70.5 % to 76.5 %; of what all rows gain over a constant answer, 56 %" in found.details


def test_without_independent_learners_it_says_so() -> None:
    found = headline(evaluated())
    assert found is not None
    assert found.title == "accuracy, the median of 1 learner in the selector's feature spaces"
    assert found.details.endswith("no independent learner was run")


def test_the_metric_is_named_and_counts() -> None:
    found = headline(evaluated(**USUAL).assign(metric="macro_f1"))
    assert found is not None
    assert found.title.startswith("macro F1, ")


def test_without_scores_of_these_rows_there_is_none() -> None:
    summary = evaluated()
    assert headline(None) is None
    assert headline(summary[summary["method"] != "distilled"]) is None
    assert scores(facts(accuracy_summary=summary.assign(budget="5/class"))) is None
    assert scores(facts(accuracy_summary=summary.assign(corpus="other"))) is None


def test_the_table_has_both_metrics_and_independent_learners_first() -> None:
    rows = score_table(evaluated(lr=0.0, textcnn=0.0))
    assert [row["learner"] for row in rows] == ["textcnn"] * 4 + ["lr"] * 4
    distilled = next(row for row in rows if row["method"] == "distilled")
    assert (distilled["accuracy"], distilled["macro_f1"]) == ("80.5 %", "70.0 %")
    assert distilled["kept"] == "76 %"  # (80.5 − 50) / (90 − 50)


def test_the_report_shows_the_range_and_no_best_learner() -> None:
    made = evidence(accuracy_summary=evaluated(**USUAL, lr=0.15))
    words = Page(render_page(made, release=False)).all_words().replace("\xa0", " ")
    assert "72.5 % accuracy, the median of 3 independent learners" in words
    assert "70.5 % to 76.5 %" in words
    assert "the best of" not in words
