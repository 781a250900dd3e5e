from __future__ import annotations

from math import sqrt

import numpy as np
import pandas as pd
import pytest

from bench.ablation import ALL_LEARNERS, ablation_table
from take.errors import InputError
from take.evaluation.cells import CellResult, cells_table
from take.evaluation.summary import comparisons_table, summary_table

T4 = 2.7764451  # Student's t, 4 degrees of freedom, 97.5 %


def cells_of(method, scores, learner="lr", one_set=False, **options):
    """A cell per set seed; a list within is the trainings on that set."""
    made = []
    for i, of_set in enumerate(scores):
        for j, value in enumerate(of_set if isinstance(of_set, list) else [of_set]):
            fields = {
                "corpus": "films",
                "budget": "20/class",
                "accuracy": value,
                "macro_f1": None if value is None else value - 0.1,
                "error": "out of memory" if value is None else None,
                "set_digest": method if one_set else f"{method}{i}",
                "rows": 40,
            }
            made.append(
                CellResult(
                    method=method,
                    learner=learner,
                    set_seed=i,
                    training_seed=j,
                    **(fields | options),
                )
            )
    return made


def row(table, **which):
    for name, value in which.items():
        table = table[table[name] == value]
    assert len(table) == 1
    return table.iloc[0]


RANDOM = [0.60, 0.62, 0.58, 0.61, 0.59]
TAKE = [0.70, 0.71, 0.69, 0.72, 0.68]


def test_a_row_summarises_its_cells():
    cells = cells_of("random", RANDOM) + cells_of(
        "take",
        [[0.70, 0.72], [0.80, 0.82]],
        learner="lr",
        updates=200,
        training_seconds=2.0,
        prediction_seconds=1.0,
        set_seconds=7.0,
        evaluation_rows=872,
        learner_title="a title",
    )
    cells[-1] = cells[-1].model_copy(update={"peak_megabytes": 900.0})
    found = row(summary_table(cells_table(cells), {}), method="take")
    assert found["mean"] == pytest.approx(0.76)
    assert found["standard_error"] == pytest.approx(0.05)
    assert found["set_deviation"] == pytest.approx(sqrt(0.005 - 0.0002 / 2))
    assert found["training_deviation"] == pytest.approx(sqrt(0.0002))
    assert found["macro_f1"] == pytest.approx(0.66)
    assert np.isnan(found["accuracy_f1"])
    assert (found["n_sets"], found["n_distinct_sets"], found["n_cells"]) == (2, 2, 4)
    assert (found["seconds"], found["set_seconds"], found["peak_megabytes"]) == (3.0, 7.0, 900.0)
    assert (found["rows"], found["evaluation_rows"], found["updates"]) == (40, 872, 200)
    assert found["learner_title"] == "a title"


def test_the_headline_metric_is_the_corpus_s():
    cells = cells_table(cells_of("take", TAKE))
    found = summary_table(cells, {"films": "macro_f1"}).iloc[0]
    assert (found["metric"], found["mean"]) == ("macro_f1", pytest.approx(0.60))
    with pytest.raises(InputError, match="take with lr has no accuracy_f1"):
        summary_table(cells, {"films": "accuracy_f1"})


def test_differences_are_paired_by_seeds():
    cells = cells_table(cells_of("random", RANDOM) + cells_of("take", TAKE))
    found = summary_table(cells, {})
    take, random = row(found, method="take"), row(found, method="random")
    differences = np.array(TAKE) - np.array(RANDOM)
    reach = T4 * differences.std(ddof=1) / sqrt(5)
    assert take["vs_random"] == pytest.approx(0.10)
    assert take["vs_random_low"] == pytest.approx(0.10 - reach)
    assert take["vs_random_high"] == pytest.approx(0.10 + reach)
    assert take["vs_random_verdict"] == "better"
    # The same seen from the other side: what take leads random by.
    assert (random["compared"], random["margin_verdict"]) == ("take", "better")
    assert random["margin_low"] == pytest.approx(0.10 - reach)
    assert np.isnan(random["vs_random"])
    assert np.isnan(take["margin"])


def test_real_differences_are_shown_and_others_are_not():
    shifted = {"below": -0.05, "above": 0.05, "same": 0.0}
    wobble = np.array([0.010, -0.010, 0.005, -0.005, 0.001])
    cells = cells_of("take", TAKE)
    for name, shift in shifted.items():
        cells += cells_of(name, list(np.array(TAKE) + shift + wobble))
    found = comparisons_table(cells_table(cells), {})
    verdicts = dict(zip(found["other"], found["verdict"], strict=True))
    assert verdicts == {"below": "better", "above": "worse", "same": "no difference shown"}
    assert set(found["pairs"]) == {5}


def test_a_method_and_learner_that_draw_nothing_are_one_observation():
    """No error of 0, however many seeds it was run with; but a comparison over the others' sets."""
    cells = cells_of("take", TAKE) + cells_of("herding", [0.65] * 5, one_set=True)
    found = row(summary_table(cells_table(cells), {}), method="herding")
    assert np.isnan(found["standard_error"])
    assert found["over"] == "nothing"
    assert (found["n_sets"], found["n_distinct_sets"], found["n_cells"]) == (5, 1, 5)
    assert found["margin"] == pytest.approx(0.05)
    assert found["margin_verdict"] == "better"


def test_one_set_under_several_seeds_varies_by_training_only():
    scores = [0.64, 0.66, 0.65, 0.67, 0.63]
    cells = cells_of("herding", scores, one_set=True, learner="textcnn", updates=200)
    found = summary_table(cells_table(cells), {}).iloc[0]
    assert found["over"] == "trainings"
    assert found["training_deviation"] == pytest.approx(np.std(scores, ddof=1))
    assert found["standard_error"] == pytest.approx(np.std(scores, ddof=1) / sqrt(5))
    assert np.isnan(found["set_deviation"])


def test_copies_of_a_training_are_not_counted_again():
    """One set, trainings 0 and 1, stored under two set seeds with the same fingerprints."""
    cells = cells_of("dilm", [[0.6, 0.7], [0.6, 0.7]], one_set=True, updates=200)
    cells = [c.model_copy(update={"fingerprint": str(c.training_seed)}) for c in cells]
    found = summary_table(cells_table(cells), {}).iloc[0]
    assert found["standard_error"] == pytest.approx(np.std([0.6, 0.7], ddof=1) / sqrt(2))


def test_a_learner_without_seed_adds_no_deviation():
    found = summary_table(cells_table(cells_of("take", TAKE)), {}).iloc[0]
    assert found["set_deviation"] == pytest.approx(np.std(TAKE, ddof=1))
    assert found["training_deviation"] == 0
    seeded = summary_table(cells_table(cells_of("take", TAKE, updates=200)), {}).iloc[0]
    assert np.isnan(seeded["set_deviation"])
    assert np.isnan(seeded["training_deviation"])


def test_full_data_is_listed_at_every_budget():
    cells = cells_of("full", [0.9], budget="20/class", rows=1000)
    for budget in ("5/class", "20/class"):
        cells += cells_of("take", TAKE, budget=budget) + cells_of("random", RANDOM, budget=budget)
    found = summary_table(cells_table(cells), {})
    assert list(found["budget"].unique()) == ["5/class", "20/class"]
    for budget in ("5/class", "20/class"):
        take = row(found, method="take", budget=budget)
        assert take["share_kept"] == pytest.approx(0.70 / 0.9)
        assert take["share_kept_error"] == pytest.approx(np.std(TAKE, ddof=1) / sqrt(5) / 0.9)
        full = row(found, method="full", budget=budget)
        # A single run is taken for exact: compared with all of take's sets, not with one.
        assert full["margin"] == pytest.approx(-0.20)
        assert full["margin_verdict"] == "worse"
        assert (full["share_kept"], full["n_cells"]) == (1.0, 1)


def test_without_full_data_there_is_no_share_kept():
    found = summary_table(cells_table(cells_of("take", TAKE)), {})
    assert found[["share_kept", "share_kept_error", "vs_random", "margin"]].isna().all(axis=None)


def test_failed_cells_are_counted_and_left_out():
    scores = [None, 0.71, 0.69, 0.72, 0.68]
    cells = cells_of("take", scores) + cells_of("random", RANDOM)
    cells += cells_of("eda", [None, None])
    found = summary_table(cells_table(cells), {})
    take, eda = row(found, method="take"), row(found, method="eda")
    assert (take["n_cells"], take["n_failed"], take["mean"]) == (4, 1, pytest.approx(0.70))
    assert (eda["n_cells"], eda["n_failed"]) == (0, 2)
    assert np.isnan(eda["mean"])
    assert row(comparisons_table(cells_table(cells), {}), other="random")["pairs"] == 4


def test_methods_without_common_seeds_have_no_difference():
    others = [c.model_copy(update={"set_seed": c.set_seed + 10}) for c in cells_of("eda", RANDOM)]
    found = comparisons_table(cells_table(cells_of("take", TAKE) + others), {})
    eda = row(found, other="eda")
    assert eda["pairs"] == 0
    assert pd.isna(eda["difference"])
    assert pd.isna(eda["verdict"])
    assert eda["other_mean"] == pytest.approx(0.60)


def test_the_runner_up_is_a_competitor_and_the_overall_one_may_be_a_variant():
    means = {"full": 0.9, "random": 0.6, "kmeans": 0.65, "take_swap": 0.69, "take": 0.7}
    cells = [c for name, mean in means.items() for c in cells_of(name, [mean, mean + 0.01])]
    found = comparisons_table(cells_table(cells), {})
    assert row(found, runner_up=True)["other"] == "kmeans"
    assert row(found, overall_runner_up=True)["other"] == "take_swap"


def test_the_distilled_set_is_compared_if_take_was_not_run():
    cells = cells_of("random", RANDOM) + cells_of("distilled", [0.7])
    found = summary_table(cells_table(cells), {})
    random = row(found, method="random")
    assert (random["compared"], random["margin"]) == ("distilled", pytest.approx(0.10))
    # A given set and a learner without seed: the one score stands against all random sets.
    assert row(comparisons_table(cells_table(cells), {}), other="random")["pairs"] == 5
    both = comparisons_table(cells_table(cells + cells_of("take", TAKE)), {})
    assert set(both["method"]) == {"take", "distilled"}
    assert not both.loc[both["runner_up"], "other"].isin(["take", "distilled"]).any()


def test_of_duplicate_cells_the_later_counts():
    cells = cells_of("take", [0.1]) + cells_of("take", [0.7])
    assert summary_table(cells_table(cells), {})["mean"].tolist() == [0.7]


def test_no_cells_give_empty_tables_with_all_columns():
    nothing, something = cells_table([]), cells_table(cells_of("take", TAKE))
    for make in (summary_table, comparisons_table):
        assert make(nothing, {}).empty
        assert list(make(nothing, {}).columns) == list(make(something, {}).columns)
        assert make(nothing, {}).dtypes.equals(make(something, {}).dtypes)


def test_variants_are_averaged_over_learners_set_by_set():
    wobble = np.array([0.02, -0.02, 0.01, -0.01, 0.0])
    cells = cells_of("take", TAKE, learner="lr")
    cells += cells_of("take", TAKE, learner="lr_phi")
    # What one learner loses on a set, the other gains: over both, the variant loses 0.01 each.
    cells += cells_of("take_without_kappa", list(np.array(TAKE) - 0.01 + wobble), learner="lr")
    cells += cells_of(
        "take_without_kappa",
        list(np.array(TAKE) - 0.01 - wobble + np.array([1, -1, 1, -1, 0]) * 1e-3),
        learner="lr_phi",
    )
    found = ablation_table(cells_table(cells), {})
    assert row(found, learner="lr")["verdict"] == "no difference shown"
    over_all = row(found, learner=ALL_LEARNERS)
    assert over_all["difference"] == pytest.approx(0.01)
    assert over_all["verdict"] == "better"
    assert ablation_table(cells_table(cells_of("take", TAKE)), {}).empty
