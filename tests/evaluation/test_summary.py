"""Means, shares and counts of a summary, and which methods are compared."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pandas as pd
import pytest

from take.errors import InputError
from take.evaluation.cells import cells_table
from take.evaluation.summary import comparisons_table, summary_table
from tests.evaluation.made import ROWS, cells_of
from tests.evaluation.summaries import RANDOM, TAKE, compared, row, summarised


def test_a_row_summarises_its_cells():
    cells = cells_of("random", RANDOM) + cells_of(
        "take",
        [[0.70, 0.72], [0.80, 0.82]],
        updates=200,
        training_seconds=2.0,
        prediction_seconds=1.0,
        set_seconds=7.0,
        learner_title="a title",
    )
    cells[-1] = cells[-1].model_copy(update={"peak_megabytes": 900.0})
    found = row(summarised(cells), method="take")
    assert found["mean"] == found["accuracy"] == pytest.approx(0.76)
    assert found["set_deviation"] == pytest.approx(sqrt(0.005 - 0.0002 / 2))
    assert found["training_deviation"] == pytest.approx(sqrt(0.0002))
    assert found["macro_f1"] == pytest.approx(np.mean([cell.macro_f1 for cell in cells[5:]]))
    assert (found["n_sets"], found["n_distinct_sets"], found["n_cells"]) == (2, 2, 4)
    assert (found["seconds"], found["set_seconds"], found["peak_megabytes"]) == (3.0, 7.0, 900.0)
    assert (found["rows"], found["evaluation_rows"], found["updates"]) == (40, ROWS, 200)
    assert found["learner_title"] == "a title"


def test_the_headline_metric_is_that_of_the_cells():
    cells = cells_of("take", TAKE, metric="macro_f1")
    found = summarised(cells).iloc[0]
    assert found["metric"] == "macro_f1"
    assert found["mean"] == found["macro_f1"] != found["accuracy"]
    several = cells_table(cells).assign(metric="accuracy_f1", accuracy_f1=None)
    with pytest.raises(InputError, match="take with lr has no accuracy_f1"):
        summary_table(several)
    mixed = cells + cells_of("random", RANDOM)
    with pytest.raises(InputError, match="the headline metrics macro_f1 and accuracy"):
        summarised(mixed)


def test_a_failed_cell_does_not_decide_the_metric():
    cells = cells_of("take", TAKE, metric="macro_f1") + cells_of("random", [None])
    assert set(summarised(cells)["metric"]) == {"macro_f1"}


def test_the_share_kept_is_above_chance():
    cells = cells_of("full", [0.9], rows=1000) + cells_of("constant", [0.5], rows=0)
    for budget in ("5/class", "20/class"):
        cells += cells_of("take", TAKE, budget=budget) + cells_of("random", RANDOM, budget=budget)
    found = summarised(cells)
    assert list(found["budget"].unique()) == ["5/class", "20/class"]
    for budget in ("5/class", "20/class"):
        take = row(found, method="take", budget=budget)
        assert take["chance"] == 0.5
        assert take["share_kept"] == pytest.approx(0.5)
        full, constant = (row(found, method=m, budget=budget) for m in ("full", "constant"))
        assert full["margin"] == pytest.approx(-0.20)
        assert full["margin_verdict"] == "worse"
        assert (full["share_kept"], constant["share_kept"]) == (1.0, 0.0)
        assert np.isnan(full["share_kept_error"])


def test_the_error_of_a_share_is_that_of_all_three_scores():
    cells = cells_of("full", [0.9]) + cells_of("constant", [0.5]) + cells_of("take", TAKE)
    found = row(summarised(cells), method="take")
    random = np.random.default_rng(0)
    # Of rows: 50 % right whatever the method, 20 % for take and full, 20 % for full, 10 % for none.
    drawn = random.multinomial(ROWS, [0.5, 0.2, 0.2, 0.1], 20_000) / ROWS
    by_sets = random.normal(0, np.std(TAKE, ddof=1) / sqrt(5), 20_000)
    shares = (drawn[:, 1] + by_sets) / (drawn[:, 1] + drawn[:, 2])
    assert found["share_kept_error"] == pytest.approx(shares.std(), rel=0.05)


@pytest.mark.parametrize(
    "others",
    [
        [],
        cells_of("full", [0.9]),
        cells_of("constant", [0.5]),
        cells_of("full", [0.5]) + cells_of("constant", [0.5]),  # nothing is gained
        cells_of("full", [0.4]) + cells_of("constant", [0.5]),
        cells_of("full", [None]) + cells_of("constant", [0.5]),
    ],
)
def test_without_a_gain_from_full_data_there_is_no_share_kept(others):
    found = row(summarised(cells_of("take", TAKE) + others), method="take")
    assert found[["share_kept", "share_kept_error"]].isna().all()


def test_failed_cells_are_counted_and_left_out():
    scores = [None, 0.71, 0.69, 0.72, 0.68]
    cells = cells_of("take", scores) + cells_of("random", RANDOM)
    cells += cells_of("eda", [None, None])
    found = summarised(cells)
    take, eda = row(found, method="take"), row(found, method="eda")
    assert (take["n_cells"], take["n_failed"], take["mean"]) == (4, 1, pytest.approx(0.70))
    assert (eda["n_cells"], eda["n_failed"]) == (0, 2)
    assert np.isnan(eda["mean"])
    random = row(compared(cells), other="random")
    assert random["pairs"] == 4
    assert random["verdict"] == "better"


def test_methods_without_common_seeds_have_no_difference():
    others = [c.model_copy(update={"set_seed": c.set_seed + 10}) for c in cells_of("eda", RANDOM)]
    found = compared(cells_of("take", TAKE) + others)
    eda = row(found, other="eda")
    assert eda["pairs"] == 0
    assert pd.isna(eda["difference"])
    assert pd.isna(eda["verdict"])
    assert eda["other_mean"] == pytest.approx(0.60)


def test_the_runner_up_is_a_competitor_and_the_overall_one_may_be_a_variant():
    means = {"full": 0.9, "random": 0.6, "kmeans": 0.65, "take_swap": 0.69, "take": 0.7}
    cells = [c for name, mean in means.items() for c in cells_of(name, [mean, mean + 0.01])]
    cells += cells_of("lucky", [0.8])
    found = compared(cells)
    assert row(found, runner_up=True)["other"] == "kmeans"
    assert row(found, overall_runner_up=True)["other"] == "take_swap"
    # Whoever does not beat a constant prediction has learned nothing.
    found = compared(cells + cells_of("constant", [0.75]))
    assert row(found, runner_up=True)["other"] == "constant"


def test_the_distilled_set_is_compared_if_take_was_not_run():
    cells = cells_of("random", RANDOM) + cells_of("distilled", [0.7])
    found = summarised(cells)
    random = row(found, method="random")
    assert (random["compared"], random["margin"]) == ("distilled", pytest.approx(0.10))
    # A given set and a learner without seed: the one score stands against all random sets.
    against = row(compared(cells), other="random")
    assert (against["pairs"], against["verdict"]) == (5, "better")
    both = compared(cells + cells_of("take", TAKE))
    assert set(both["method"]) == {"take", "distilled"}
    assert not both.loc[both["runner_up"], "other"].isin(["take", "distilled"]).any()


def test_independent_learners_come_first():
    cells = cells_of("take", TAKE, learner="lr") + cells_of("take", TAKE, learner="unknown")
    cells += cells_of("take", TAKE, learner="char_lr", independent=True)
    cells += cells_of("take", TAKE, learner="mine", independent=True)
    found = summarised(cells)
    assert found["learner"].tolist() == ["char_lr", "mine", "lr", "unknown"]
    assert found["independent"].tolist() == [True, True, False, False]


def test_of_duplicate_cells_the_later_counts():
    cells = cells_of("take", [0.1]) + cells_of("take", [0.7])
    assert summarised(cells)["mean"].tolist() == [0.7]


def test_no_cells_give_empty_tables_with_all_columns():
    nothing, something = cells_table([]), cells_table(cells_of("take", TAKE))
    for make in (summary_table, comparisons_table):
        assert make(nothing).empty
        assert list(make(nothing).columns) == list(make(something).columns)
        assert make(nothing).dtypes.equals(make(something).dtypes)
