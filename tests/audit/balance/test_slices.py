"""Accuracy by slice: a real grid of tiny learners, and answers made up to be wrong in places."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from take.audit.balance.slices import Predictions, predictions_of, slice_accuracy
from take.audit.balance.terms import BalanceSettings
from take.errors import InputError
from take.evaluation.cells import cells_table
from take.evaluation.outcomes import Outcomes
from take.evaluation.store import CellStore
from tests.evaluation.tiny import World

SETTINGS = BalanceSettings()


@pytest.fixture(scope="module")
def evaluated(
    world: World, tmp_path_factory: pytest.TempPathFactory
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two learners, one of which (textrnn) is evaluated on 12 of the 30 rows."""
    folder = tmp_path_factory.mktemp("cells")
    grid = world.grid(folder, sets=2, trainings=2)
    experiment = world.experiment("distilled random", "lr textrnn")
    cells = cells_table(grid.run([experiment]))
    splits = {experiment.corpus: experiment.split}
    return cells, Outcomes.collected(cells, splits, CellStore(folder)).table()


def test_predictions_belong_to_the_evaluated_rows(
    world: World, evaluated: tuple[pd.DataFrame, pd.DataFrame]
) -> None:
    cells, predictions = evaluated
    split = world.prepared.evaluation_split
    truth = split["label"].to_numpy()
    found = predictions_of(cells, predictions, "distilled", len(split))
    assert set(found) == {"lr", "textrnn"}
    assert found["lr"].labels.shape == (1, 30)  # draws nothing: one training under every seed
    assert found["textrnn"].labels.shape == (4, 12)
    for learner, answers in found.items():
        mine = cells[(cells["learner"] == learner) & (cells["method"] == "distilled")]
        scored = mine.drop_duplicates("fingerprint")["accuracy"]
        right = (answers.labels == truth[answers.rows]).mean(axis=1)
        np.testing.assert_allclose(right, scored)


def test_slices_of_a_real_grid(world: World, evaluated: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    cells, predictions = evaluated
    split = world.prepared.evaluation_split
    answers = predictions_of(cells, predictions, "distilled", len(split))
    table = slice_accuracy(split, answers, SETTINGS)
    by_class = table[(table["slice"] == "class") & (table["learner"] == "lr")]
    assert by_class["rows"].sum() == len(split)
    whole = (by_class["accuracy"] * by_class["rows"]).sum() / len(split)
    mine = cells[(cells["learner"] == "lr") & (cells["method"] == "distilled")]
    assert whole == pytest.approx(mine["accuracy"].iloc[0])
    lengths = table[(table["slice"] == "length") & (table["learner"] == "textrnn")]
    assert lengths["rows"].sum() == 12
    assert ((table["low"] <= table["accuracy"]) & (table["accuracy"] <= table["high"])).all()


def test_failed_cells_and_other_methods_are_left_out(
    evaluated: tuple[pd.DataFrame, pd.DataFrame],
) -> None:
    cells, predictions = evaluated
    failed = cells.copy()
    failed.loc[failed["learner"] == "textrnn", "error"] = "OutOfMemoryError"
    assert set(predictions_of(failed, predictions, "distilled", 30)) == {"lr"}
    assert predictions_of(cells, predictions, "take", 30) == {}


def test_cells_that_do_not_belong_together_are_refused(
    evaluated: tuple[pd.DataFrame, pd.DataFrame],
) -> None:
    cells, predictions = evaluated
    two = pd.concat([cells, cells.assign(budget="8/class")])
    with pytest.raises(InputError, match="2 corpora and budgets"):
        predictions_of(two, predictions, "distilled", 30)
    with pytest.raises(InputError, match="30 rows were evaluated"):
        predictions_of(cells, predictions, "distilled", 20)
    with pytest.raises(InputError, match="not among those"):
        predictions_of(cells, predictions.iloc[:1], "distilled", 30)


# --- made-up predictions


def split_of(n_rows: int, share: float = 0.3) -> pd.DataFrame:
    random = np.random.default_rng(1)
    texts = [
        ("she said " if random.random() < share else "they said ") + "so " * random.integers(1, 20)
        for _ in range(n_rows)
    ]
    labels = random.integers(0, 2, n_rows)
    names = np.array(["bad", "good"])[labels]
    return pd.DataFrame({"text": texts, "label": labels, "label_name": names})


def predictions_with(split: pd.DataFrame, wrong: np.ndarray, trainings: int = 1) -> Predictions:
    labels = split["label"].to_numpy()
    given = [
        np.where(np.random.default_rng(s).random(len(split)) < wrong, 1 - labels, labels)
        for s in range(trainings)
    ]
    return Predictions(np.arange(len(split)), np.array(given))


def test_a_slice_with_more_errors_is_shifted() -> None:
    split = split_of(2000)
    female = split["text"].str.startswith("she").to_numpy()
    answers = {"poor": predictions_with(split, np.where(female, 0.35, 0.15), 3)}
    table = slice_accuracy(split, answers, SETTINGS).set_index("name")
    assert table.loc["gender: female", "verdict"] == "shifted"
    assert table.loc["gender: female", "difference"] == pytest.approx(-0.2, abs=0.05)
    assert table.loc["gender: female", "rows"] == female.sum()
    others = table.drop(index="gender: female")
    assert set(others["verdict"]) <= {"even", "inconclusive"}
    assert "gender: male" not in table.index  # no such row


def test_few_rows_are_inconclusive() -> None:
    split = split_of(40)
    female = split["text"].str.startswith("she").to_numpy()
    table = slice_accuracy(
        split, {"poor": predictions_with(split, np.where(female, 0.35, 0.15))}, SETTINGS
    )
    assert set(table["verdict"]) == {"inconclusive"}


def test_trainings_do_not_count_as_rows() -> None:
    """Twenty trainings that all answer the same say no more than one."""
    split = split_of(300)
    once = predictions_with(split, np.full(300, 0.2))
    often = Predictions(once.rows, np.repeat(once.labels, 20, axis=0))
    first, second = (slice_accuracy(split, {"lr": a}, SETTINGS) for a in (once, often))
    pd.testing.assert_frame_equal(first, second)


def test_a_learner_that_is_even_is_rarely_called_otherwise() -> None:
    """Over all slices together, at most 5 % of learners; 3 % tolerance for 100 draws."""
    split = split_of(600)
    alarms = 0
    for seed in range(100):
        wrong = np.random.default_rng(seed).random((1, 600)) < 0.25
        labels = split["label"].to_numpy()
        answers = Predictions(np.arange(600), np.where(wrong, 1 - labels, labels))
        table = slice_accuracy(split, {"even": answers}, SETTINGS)
        alarms += (table["verdict"] == "shifted").any()
    assert alarms <= 8


def test_no_learner_no_slice() -> None:
    assert slice_accuracy(split_of(10), {}, SETTINGS).empty
