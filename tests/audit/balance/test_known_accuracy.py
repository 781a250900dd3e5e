"""An evaluation is shown only if it is of these rows and of this split."""

from __future__ import annotations

import logging

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score

from take.audit.balance.slices import KnownAccuracy, known_accuracy
from take.audit.balance.terms import BalanceSettings
from take.evaluation.cells import CellResult, cells_table
from take.evaluation.outcomes import EvaluatedOn, Outcomes
from take.evaluation.prepared_corpus import as_training_set
from tests.audit.release.released import rows

SPLIT = pd.DataFrame(
    {
        "text": [f"film {i} was {'fine' if i % 2 else 'flat'}" for i in range(40)],
        "label": [i % 2 for i in range(40)],
        "label_name": [("bad", "good")[i % 2] for i in range(40)],
    }
)
PREDICTED = np.where(np.arange(40) % 5, SPLIT["label"], 1 - SPLIT["label"])


PREDICTIONS = Outcomes(
    {EvaluatedOn("films", 40): SPLIT["label"].to_numpy()}, {"f" * 16: PREDICTED}
).table()


def cells(distilled: pd.DataFrame) -> pd.DataFrame:
    cell = CellResult(
        corpus="films",
        budget="2/class",
        method="distilled",
        learner="lr",
        set_seed=0,
        training_seed=0,
        accuracy=float((SPLIT["label"] == PREDICTED).mean()),
        macro_f1=float(f1_score(SPLIT["label"], PREDICTED, average="macro")),
        accuracy_f1=(0.8 + float(f1_score(SPLIT["label"], PREDICTED))) / 2,
        set_digest=as_training_set(distilled).digest,
        evaluation_rows=40,
        fingerprint="f" * 16,
    )
    return cells_table([cell])


def known(
    found: pd.DataFrame | None, distilled: pd.DataFrame, split: pd.DataFrame
) -> KnownAccuracy:
    return known_accuracy(found, PREDICTIONS, distilled, split, BalanceSettings())


def test_accuracy_is_given_overall_and_by_slice() -> None:
    shown = known(cells(rows()), rows(), SPLIT)
    assert shown.summary["mean"].tolist() == [0.8]
    assert shown.summary["standard_error"].notna().all()  # of the evaluation rows
    assert set(shown.slices["learner"]) == {"lr"}


def test_without_evaluation_nothing_is_given() -> None:
    shown = known(None, rows(), SPLIT)
    assert shown.summary.empty
    assert shown.slices.empty


def test_accuracy_of_other_rows_is_left_out() -> None:
    found = cells(rows())
    assert known(found, rows(texts=["other", "rows"]), SPLIT).summary.empty


def test_accuracy_on_another_split_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    found = cells(rows())
    other = SPLIT.assign(label=SPLIT["label"].iloc[::-1].to_numpy())
    with caplog.at_level(logging.WARNING):
        assert known(found, rows(), other).summary.empty
    assert "another split" in caplog.text


def test_accuracy_without_predictions_is_left_out_without_an_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """They may be of another evaluation than the cells."""
    found, none = cells(rows()), PREDICTIONS.iloc[:0]
    with caplog.at_level(logging.WARNING):
        shown = known_accuracy(found, none, rows(), SPLIT, BalanceSettings())
    assert shown.summary.empty
    assert "not among those of the evaluation" in caplog.text
