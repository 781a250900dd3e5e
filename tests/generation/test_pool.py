from __future__ import annotations

import logging
from collections.abc import Sequence

import pandas as pd
import pytest

from take.generation.pool import LedgerReport, all_rows, fill_pool, ledger_rows, pool_rows
from take.generation.sampling.rows import RowNumbers
from take.generation.screening.reasons import Reason

NAMES = ["bad", "good"]


def read_rows(wanted: Sequence[RowNumbers]) -> pd.DataFrame:
    return pd.concat([class_rows(*rows) for rows in wanted], ignore_index=True)


def class_rows(label: int, start: int, stop: int) -> pd.DataFrame:
    numbers = range(start, stop)
    return pd.DataFrame(
        {
            "label": [label] * len(numbers),
            "index": list(numbers),
            "raw": [f"{label}-{number}" for number in numbers],
            "text": [f"{label}-{number}" for number in numbers],
            "tokens": 3,
            "finished": True,
        }
    )


def keeping_one_in(step: int):
    def judge(rows: pd.DataFrame, room: dict[int, int]) -> pd.DataFrame:
        left, reasons = dict(room), []
        for label, index in zip(rows["label"], rows["index"], strict=True):
            reason = "empty" if index % step else "" if left[label] else Reason.SURPLUS.value
            left[label] -= reason == ""
            reasons.append(reason)
        return pd.DataFrame(
            {
                "reason": reasons,
                "detail": "",
                "label": rows["label"],
                "verifier_label": rows["label"].astype("Int64"),
                "verifier_confidence": 0.9,
            }
        )

    return judge


def test_every_class_is_filled_and_every_row_accounted_for() -> None:
    judged = fill_pool(read_rows, keeping_one_in(2), [50, 30], NAMES, tries=5)
    for label, share in enumerate((50, 30)):
        rows = judged[judged["label"] == label]
        assert (rows["reason"] == "").sum() == share
        assert rows["index"].tolist() == list(range(len(rows)))  # no number skipped or repeated
    pool = pool_rows(judged, NAMES, ["text"])
    ledger = ledger_rows(judged, NAMES)
    assert len(pool) + len(ledger) == len(judged)
    assert set(ledger["reason"]) <= {"empty", Reason.SURPLUS}
    again = all_rows(pool, ledger)
    expected = judged.sort_values(["label", "index"], ignore_index=True)[again.columns]
    pd.testing.assert_frame_equal(again, expected, check_dtype=False)


def test_surplus_is_what_comes_after_the_share() -> None:
    judged = fill_pool(read_rows, keeping_one_in(3), [40, 40], NAMES, tries=9)
    for label in (0, 1):
        rows = judged[judged["label"] == label]
        last_kept = rows.loc[rows["reason"] == "", "index"].max()
        surplus = rows.loc[rows["reason"] == Reason.SURPLUS, "index"]
        assert (surplus > last_kept).all()


def test_a_class_that_cannot_be_filled_gives_up_and_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        judged = fill_pool(read_rows, keeping_one_in(10), [30, 30], NAMES, tries=2)
    assert (judged["label"] == 0).sum() == 60
    assert (judged["reason"] == "").sum() == 12
    assert "Class 'bad' has 6 of the 30 rows wanted after 60 tries" in caplog.text
    assert "tries" in caplog.text


def test_a_class_of_which_nothing_is_kept_ends_too() -> None:
    def judge(rows: pd.DataFrame, room: dict[int, int]) -> pd.DataFrame:
        return keeping_one_in(1)(rows, room).assign(
            reason=["empty" if label else "" for label in rows["label"]]
        )

    judged = fill_pool(read_rows, judge, [10, 10], NAMES, tries=3)
    assert (judged["label"] == 1).sum() == 30
    assert (judged["reason"] == "").sum() == 10


def test_pool_ids_are_by_content() -> None:
    judged = fill_pool(read_rows, keeping_one_in(1), [3, 3], NAMES, tries=1)
    pool = pool_rows(judged, NAMES, ["text"])
    assert pool["id"].is_unique
    assert pool["label_name"].tolist() == ["bad"] * 3 + ["good"] * 3
    assert pool_rows(judged.iloc[::-1], NAMES, ["text"]).equals(pool)


def relabelling(rows: pd.DataFrame, room: dict[int, int]) -> pd.DataFrame:
    """Every third row of class 0 is moved to class 1, if there is room."""
    left, reasons, labels = dict(room), [], []
    for label, index in zip(rows["label"], rows["index"], strict=True):
        meant = 1 if label == 0 and index % 3 == 0 else label
        reason = "" if left[meant] else Reason.SURPLUS.value
        left[meant] -= reason == ""
        reasons.append(reason)
        labels.append(label if reason else meant)
    predicted = pd.array(labels, dtype="Int64")
    columns = {"label": labels, "reason": reasons, "detail": "", "verifier_label": predicted}
    return pd.DataFrame({**columns, "verifier_confidence": 0.9}, index=rows.index)


def test_relabelled_rows_fill_the_share_of_their_new_class() -> None:
    judged = fill_pool(read_rows, relabelling, [30, 30], NAMES, tries=5)
    pool, ledger = pool_rows(judged, NAMES, ["text"]), ledger_rows(judged, NAMES)
    assert pool["label"].value_counts().to_dict() == {0: 30, 1: 30}
    moved = pool[pool["prompt_label"] != pool["label"]]
    assert len(moved) >= 10
    assert set(moved["label_name"]) == {"good"}
    assert moved["text"].str.startswith("0-").all()
    assert (ledger["label"] == ledger["prompt_label"]).all()
    everything = all_rows(pool, ledger)
    for _, rows in everything.groupby("prompt_label"):
        assert rows["index"].tolist() == list(range(len(rows)))
    report = LedgerReport.of(judged, NAMES)
    for label, name in enumerate(NAMES):
        account = report.classes[name]
        made = (everything["prompt_label"] == label).sum()
        assert account.generated == made == account.kept + sum(account.dropped.values())
    assert report.totals.relabelled == len(moved)
    assert pool_rows(judged.iloc[::-1], NAMES, ["text"]).equals(pool)
