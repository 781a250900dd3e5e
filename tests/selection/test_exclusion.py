"""Which candidates are excluded, and what is left; made-up rows."""

from __future__ import annotations

import logging

import pandas as pd
import pytest

from take.errors import InputError
from take.selection.exclusion import excluded_rows

NAMES = ["bad", "good"]
POOL = pd.DataFrame({"id": [f"c{i}" for i in range(10)], "label": [0] * 4 + [1] * 6})
POOL["label_name"] = [NAMES[label] for label in POOL["label"]]


def against(**reasons: str) -> pd.DataFrame:
    """Objections by candidate; `review` is one that does not block."""
    lines = [(row, reason, "…", reason != "review") for row, reason in reasons.items()]
    columns = {"id": "str", "reason": "str", "detail": "str", "blocked": "bool"}
    return pd.DataFrame(lines, columns=list(columns)).astype(columns)


def test_the_ledger_lists_each_with_its_class_and_reason() -> None:
    found = excluded_rows(POOL, against(c5="copy_of_train", c0="review"), [2, 2])
    assert found.to_dict("list") == {
        "id": ["c0", "c5"],
        "label": [0, 1],
        "label_name": ["bad", "good"],
        "reason": ["review", "copy_of_train"],
        "detail": ["…", "…"],
    }


def test_no_objection_excludes_nothing() -> None:
    assert excluded_rows(POOL, against(), [2, 2]).empty
    # A budget beyond the pool is not about exclusion: selection itself refuses it.
    assert excluded_rows(POOL, against(), [9, 9]).empty


def test_rows_for_review_stay_where_too_few_others_are_left(
    caplog: pytest.LogCaptureFixture,
) -> None:
    objections = against(c0="copy_of_train", c1="review", c2="review", c9="review")
    with caplog.at_level(logging.WARNING):
        found = excluded_rows(POOL, objections, [2, 2])
    assert found["id"].tolist() == ["c0", "c9"]
    assert "class 'bad': 2 candidates that the privacy gate will mark for review" in caplog.text


def test_a_class_with_too_few_candidates_left_is_an_error() -> None:
    objections = against(c0="copy_of_train", c1="near_copy_of_train", c2="near_copy_of_train")
    with pytest.raises(InputError) as error:
        excluded_rows(POOL, objections, [2, 2])
    message = str(error.value)
    assert "class 'bad': 1 of 4 candidates are left" in message
    assert "(near_copy_of_train 2, copy_of_train 1)" in message
    assert "Allowed: at least 2 candidates" in message


def test_globally_the_classes_share_the_budget() -> None:
    objections = against(c0="copy_of_train", c1="copy_of_train", c2="copy_of_train")
    assert len(excluded_rows(POOL, objections, [2, 2], "global")) == 3
    with pytest.raises(InputError, match="the whole pool: 7 of 10 candidates are left"):
        excluded_rows(POOL, objections, [4, 4], "global")
