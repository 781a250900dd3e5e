"""Errors and differences of a summary: what they vary by, and what is shown."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from take.evaluation.cells import cells_table
from take.evaluation.outcomes import Outcomes
from take.evaluation.summary import comparisons_table, summary_table
from tests.evaluation.made import cells_of, outcomes_of
from tests.evaluation.summaries import RANDOM, T4, TAKE, compared, of_rows, row, summarised


def test_the_error_covers_sets_and_rows():
    found = row(summarised(cells_of("take", TAKE)), method="take")
    by_sets = np.var(TAKE, ddof=1) / 5
    assert found["standard_error"] == pytest.approx(sqrt(by_sets + of_rows(0.7)), rel=0.05)
    assert found["accuracy_error"] == found["standard_error"]
    assert found["macro_f1_error"] == pytest.approx(found["standard_error"], rel=0.1)
    assert found["over"] == "sets and rows"


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
