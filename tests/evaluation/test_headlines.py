from __future__ import annotations

import pandas as pd
import pytest

from take.evaluation.headlines import count_wins, over_learners


def row(corpus, learner, other, difference, p, independent=True):
    return {
        "corpus": corpus,
        "budget": "20/class",
        "learner": learner,
        "independent": independent,
        "method": "take",
        "other": other,
        "difference": difference,
        "p": p,
    }


def counts(rows, against="every rival", independent=True):
    table = count_wins(pd.DataFrame(rows)).table
    found = table[(table["against"] == against) & (table["independent"] == independent)].iloc[0]
    return found[["cases", "better", "worse", "inconclusive", "not_measured"]].tolist()


def test_better_than_every_rival_means_than_each():
    shown = [row("films", "lr", name, 0.1, 0.001) for name in ("random", "kmeans")]
    assert counts(shown) == [1, 1, 0, 0, 0]
    for p in (0.2, float("nan")):
        unshown = [*shown, row("films", "lr", "dilm", 0.01, p)]
        assert counts(unshown)[1] == 0
        assert counts(unshown, against="random") == [1, 1, 0, 0, 0]
    assert counts([*shown, row("films", "lr", "dilm", 0.01, float("nan"))])[4] == 1


def test_worse_than_one_rival_is_worse_but_each_had_the_chance():
    rows = [row("films", "lr", name, 0.1, 0.001) for name in ("random", "kmeans", "eda")]
    assert counts([*rows, row("films", "lr", "herding", -0.1, 0.004)]) == [1, 0, 1, 0, 0]
    # 0.02 of one in four rivals is no evidence.
    assert counts([*rows, row("films", "lr", "herding", -0.1, 0.02)]) == [1, 0, 0, 1, 0]


def test_all_counted_comparisons_are_corrected_together():
    rows = [row(f"corpus{i}", "lr", "random", 0.1, 0.01) for i in range(5)]
    assert counts(rows[:2], against="random") == [2, 2, 0, 0, 0]  # 4 comparisons: 0.04
    assert counts(rows, against="random") == [5, 0, 0, 5, 0]  # 10 comparisons: 0.1
    other = [{**one, "independent": False} for one in rows[2:]]
    assert counts(rows[:2] + other, against="random") == [2, 0, 0, 2, 0]


def test_variants_and_full_data_are_no_rivals():
    rows = [row("films", "lr", "random", 0.1, 0.001)]
    rows += [row("films", "lr", name, -0.1, 1e-9) for name in ("full", "take_swap", "distilled")]
    assert counts(rows) == [1, 1, 0, 0, 0]
    assert counts([*rows, row("films", "lr", "constant", -0.1, 1e-9)]) == [1, 0, 1, 0, 0]


def test_independent_learners_come_first_in_sentences():
    rows = [row("films", "lr", "random", 0.1, 0.001, independent=False)]
    rows += [row("films", "textcnn", "random", -0.1, 0.9)]
    found = count_wins(pd.DataFrame(rows)).sentences()
    assert found[0] == (
        "Independent learners: take is shown to be better than random in 0 of 1 cases, worse than "
        "random in 0; 1 are inconclusive."
    )
    assert found[2].startswith(
        "Learners in the selector's feature spaces: take is shown to be better than random in 1"
    )
    assert "all 4 comparisons together (Holm)" in found[-1]
    assert count_wins(pd.DataFrame(rows), method="distilled").sentences() == []


def test_a_median_is_over_the_learners_of_a_kind():
    means = {"textcnn": 0.6, "char_lr": 0.7, "e5": 0.9, "broken": None}
    summary = pd.DataFrame(
        {
            "corpus": "films",
            "budget": "2/class",
            "method": "take",
            "learner": [*means, "lr"],
            "independent": [True] * 4 + [False],
            "mean": [*means.values(), 0.95],
            "share_kept": [0.2, None, 0.6, None, None],
        }
    )
    independent, own = over_learners(summary).to_dict("records")
    assert (independent["learners"], independent["median"]) == (3, pytest.approx(0.7))
    assert (independent["lowest"], independent["highest"]) == (0.6, 0.9)
    assert independent["share_median"] == pytest.approx(0.4)
    assert (own["independent"], own["median"]) == (False, 0.95)
    assert pd.isna(own["share_median"])
