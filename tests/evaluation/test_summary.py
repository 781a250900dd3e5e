from __future__ import annotations

from math import sqrt

import numpy as np
import pandas as pd
import pytest

from take.errors import InputError
from take.evaluation.cells import cells_table
from take.evaluation.outcomes import Outcomes
from take.evaluation.summary import comparisons_table, summary_table
from tests.evaluation.made import ROWS, cells_of, outcomes_of

T4 = 2.7764451  # Student's t, 4 degrees of freedom, 97.5 %
RANDOM = [0.60, 0.62, 0.58, 0.61, 0.59]
TAKE = [0.70, 0.71, 0.69, 0.72, 0.68]


def row(table, **which):
    for name, value in which.items():
        table = table[table[name] == value]
    assert len(table) == 1
    return table.iloc[0]


def summarised(cells, **options):
    return summary_table(cells_table(cells), outcomes_of(cells), **options)


def compared(cells, **options):
    return comparisons_table(cells_table(cells), outcomes_of(cells), **options)


def of_rows(share):
    """The variance of a share of the evaluation rows."""
    return share * (1 - share) / ROWS


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


def test_the_error_covers_sets_and_rows():
    found = row(summarised(cells_of("take", TAKE)), method="take")
    by_sets = np.var(TAKE, ddof=1) / 5
    assert found["standard_error"] == pytest.approx(sqrt(by_sets + of_rows(0.7)), rel=0.05)
    assert found["accuracy_error"] == found["standard_error"]
    assert found["macro_f1_error"] == pytest.approx(found["standard_error"], rel=0.1)
    assert found["over"] == "sets and rows"


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


def test_differences_are_paired_by_seeds_and_rows():
    cells = cells_of("random", RANDOM) + cells_of("take", TAKE)
    found = summarised(cells)
    take, random = row(found, method="take"), row(found, method="random")
    by_sets = (np.array(TAKE) - np.array(RANDOM)).var(ddof=1) / 5
    # Where take is right, random is right or wrong: they differ on a tenth of the rows.
    reach = sqrt(T4**2 * by_sets + 1.96**2 * of_rows(0.1))
    assert take["vs_random"] == pytest.approx(0.10)
    assert take["vs_random_low"] == pytest.approx(0.10 - reach, abs=0.002)
    assert take["vs_random_high"] == pytest.approx(0.10 + reach, abs=0.002)
    assert take["vs_random_verdict"] == "better"
    assert take["vs_random_p"] < 0.001
    # The same seen from the other side: what take leads random by.
    assert (random["compared"], random["margin_verdict"]) == ("take", "better")
    assert random["margin_low"] == take["vs_random_low"]
    assert np.isnan(random["vs_random"])
    assert np.isnan(take["margin"])


def test_sets_of_one_pool_are_not_independent():
    def error_with(pools):
        cells = [
            cell.model_copy(update={"pool": pool})
            for cell, pool in zip(cells_of("take", [0.6, 0.7, 0.61, 0.71]), pools, strict=True)
        ]
        cells += cells_of("random", [0.5, 0.51, 0.52, 0.5])
        found = summarised(cells)
        random = row(found, method="random")
        width = random["margin_high"] - random["margin_low"]
        return row(found, method="take")["standard_error"], width

    plain, one, two = (error_with(pools) for pools in ([None] * 4, [1] * 4, [0, 1, 0, 1]))
    assert plain == one
    assert two[0] > 1.3 * plain[0]
    assert two[1] > 2 * plain[1]


def test_real_differences_are_shown_and_others_are_not():
    shifted = {"below": -0.05, "above": 0.05, "same": 0.0}
    wobble = np.array([0.010, -0.010, 0.005, -0.005, 0.001])
    cells = cells_of("take", TAKE)
    for name, shift in shifted.items():
        cells += cells_of(name, list(np.array(TAKE) + shift + wobble))
    found = compared(cells)
    verdicts = dict(zip(found["other"], found["verdict"], strict=True))
    assert verdicts == {"below": "better", "above": "worse", "same": "no difference shown"}
    assert set(found["pairs"]) == {5}
    assert ((found["p"] < 0.05) == (found["verdict"] != "no difference shown")).all()


def test_a_few_rows_are_no_difference_however_alike_the_sets_are():
    """Five sets that agree to the row: 3 rows of 1,000 are still too few."""
    cells = cells_of("take", [0.703] * 5) + cells_of("random", [0.700] * 5)
    found = row(compared(cells), other="random")
    assert found["difference"] == pytest.approx(0.003)
    assert found["verdict"] == "no difference shown"


def test_a_method_and_learner_that_draw_nothing_vary_by_rows_only():
    cells = cells_of("take", TAKE)
    herding = cells_of("herding", [0.65] * 5, one_set=True, fingerprint="one")
    found = row(summarised(cells + herding), method="herding")
    assert found["standard_error"] == pytest.approx(sqrt(of_rows(0.65)), rel=0.05)
    assert found["over"] == "rows"
    assert (found["n_sets"], found["n_distinct_sets"], found["n_cells"]) == (5, 1, 5)
    assert found["margin"] == pytest.approx(0.05)
    assert found["margin_verdict"] == "better"


def test_one_set_under_several_seeds_varies_by_training():
    scores = [0.64, 0.66, 0.65, 0.67, 0.63]
    cells = cells_of("herding", scores, one_set=True, learner="textcnn", updates=200)
    found = summarised(cells).iloc[0]
    by_training = np.var(scores, ddof=1)
    assert found["over"] == "trainings and rows"
    assert found["training_deviation"] == pytest.approx(sqrt(by_training))
    expected = sqrt(by_training / 5 + of_rows(0.65))
    assert found["standard_error"] == pytest.approx(expected, rel=0.05)
    assert np.isnan(found["set_deviation"])


def test_copies_of_a_training_are_not_counted_again():
    """One set, trainings 0 and 1, stored under two set seeds with the same fingerprints."""
    cells = cells_of("dilm", [[0.6, 0.7], [0.6, 0.7]], one_set=True, updates=200)
    cells = [c.model_copy(update={"fingerprint": str(c.training_seed)}) for c in cells]
    found = summarised(cells).iloc[0]
    expected = sqrt(np.var([0.6, 0.7], ddof=1) / 2 + of_rows(0.65))
    assert found["standard_error"] == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize(
    "cells",
    [
        cells_of("random", [0.6]),  # one of the sets it could have drawn
        cells_of("random", [[0.6, 0.7]], updates=200),
        cells_of("distilled", [0.6], updates=200),  # one of the trainings
    ],
)
def test_one_of_many_is_not_measured(cells):
    found = summarised(cells).iloc[0]
    assert np.isnan(found["standard_error"])
    assert found["over"] == "not measured"
    both = compared(cells_of("take", TAKE) + cells)
    assert both["verdict"].tolist()[0] == "not measured"
    assert both[["low", "high", "p"]].isna().all(axis=None)


def test_cells_without_predictions_have_no_interval():
    cells = cells_of("take", TAKE) + cells_of("random", RANDOM)
    known = outcomes_of(cells)
    lost = {
        name: it for name, it in known.predictions.items() if not name.startswith("random lr 3")
    }
    for outcomes in (None, Outcomes(known.labels, lost), Outcomes({}, known.predictions)):
        found = comparisons_table(cells_table(cells), outcomes).iloc[0]
        assert (found["difference"], found["verdict"]) == (pytest.approx(0.1), "not measured")
        assert found[["low", "high", "p"]].isna().all()
    without = summary_table(cells_table(cells))
    assert set(without["over"]) == {"not measured"}
    assert without["standard_error"].isna().all()
    assert row(without, method="take")["set_deviation"] == pytest.approx(np.std(TAKE, ddof=1))


def test_predictions_of_another_split_are_not_used(caplog):
    cells = cells_of("take", TAKE)
    known = outcomes_of(cells)
    other = {on: np.roll(labels, 1) for on, labels in known.labels.items()}
    found = summary_table(cells_table(cells), Outcomes(other, known.predictions)).iloc[0]
    assert found["over"] == "not measured"
    assert "films, 20/class, lr, take: the stored predictions do not have the scores" in caplog.text


def test_a_learner_without_seed_adds_no_deviation():
    found = summarised(cells_of("take", TAKE)).iloc[0]
    assert found["set_deviation"] == pytest.approx(np.std(TAKE, ddof=1))
    assert found["training_deviation"] == 0
    seeded = summarised(cells_of("take", TAKE, updates=200)).iloc[0]
    assert np.isnan(seeded["set_deviation"])
    assert np.isnan(seeded["training_deviation"])


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
