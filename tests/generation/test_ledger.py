from __future__ import annotations

import pandas as pd
import pytest
from pydantic import ValidationError

from take.generation.pool import Account, LedgerReport
from take.generation.screening.reasons import Reason


def judged() -> pd.DataFrame:
    labels = [0, 0, 0, 1, 1, 0]
    return pd.DataFrame(
        {
            "label": labels,
            "prompt_label": labels,
            "reason": ["", "duplicate", "duplicate", "", "surplus", "parse_failure"],
        }
    )


def test_every_row_is_in_one_place() -> None:
    report = LedgerReport.of(judged(), ["bad", "good", "neither"])
    bad = report.classes["bad"]
    assert (bad.generated, bad.kept) == (4, 1)
    assert {r: n for r, n in bad.dropped.items() if n} == {"duplicate": 2, "parse_failure": 1}
    assert report.classes["good"].dropped[Reason.SURPLUS] == 1
    assert report.classes["neither"].generated == 0
    assert (report.totals.generated, report.totals.kept) == (6, 2)
    assert list(report.totals.dropped) == list(Reason)


def test_a_ledger_report_round_trips_through_json() -> None:
    report = LedgerReport.of(judged(), ["bad", "good"])
    assert LedgerReport.model_validate_json(report.model_dump_json()) == report


@pytest.mark.parametrize("reason", ["boredom", None])
def test_an_unknown_reason_is_refused(reason: str | None) -> None:
    rows = pd.DataFrame({"label": 0, "prompt_label": 0, "reason": ["", reason]})
    with pytest.raises(ValueError, match="boredom|2 rows were generated but 1 kept"):
        LedgerReport.of(rows, ["bad"])


def test_a_label_without_a_name_is_refused() -> None:
    with pytest.raises(ValueError, match=r"labels \[1\] are not among 0 … 0"):
        LedgerReport.of(judged(), ["bad"])


def test_accounts_that_do_not_add_up_are_refused() -> None:
    with pytest.raises(ValidationError, match="5 rows were generated but 2 kept \\+ 2 dropped = 4"):
        Account(generated=5, kept=2, dropped={Reason.EMPTY: 2})
    account = Account(generated=2, kept=1, dropped={Reason.EMPTY: 1})
    other = Account(generated=2, kept=1, dropped={Reason.TOO_LONG: 1})
    with pytest.raises(ValidationError, match="empty 0 ≠ 1, too_long 1 ≠ 0"):
        LedgerReport(classes={"bad": account}, totals=other)
    with pytest.raises(ValidationError, match="greater than or equal to 0"):
        Account(generated=0, kept=1, dropped={Reason.EMPTY: -1})


def test_relabelled_rows_are_accounted_for_by_the_class_of_their_prompt() -> None:
    rows = pd.DataFrame(
        {
            "prompt_label": [0, 0, 0, 1, 1, 1],
            "label": [0, 1, 0, 1, 0, 0],
            "reason": ["", "", "label_contradicted", "", "", ""],
        }
    )
    report = LedgerReport.of(rows, ["bad", "good"])
    bad, good = report.classes["bad"], report.classes["good"]
    assert (bad.generated, bad.kept, bad.relabelled, bad.received) == (3, 2, 1, 2)
    assert (good.generated, good.kept, good.relabelled, good.received) == (3, 3, 2, 1)
    in_pool = rows.loc[rows["reason"] == "", "label"].value_counts()
    for label, account in enumerate((bad, good)):
        assert account.kept - account.relabelled + account.received == in_pool[label]
    assert report.totals.relabelled == report.totals.received == 3
    assert "5 rows, 3 of them relabelled" in report.summary()
    with pytest.raises(ValueError, match="a row that was dropped has another label"):
        LedgerReport.of(rows.assign(reason="surplus"), ["bad", "good"])
    with pytest.raises(ValidationError, match="2 rows were relabelled, but only 1 kept"):
        Account(generated=1, kept=1, dropped={}, relabelled=2)
    moved = Account(generated=1, kept=1, dropped={}, relabelled=1)
    with pytest.raises(ValidationError, match="1 rows were relabelled, but 0 received"):
        LedgerReport(classes={"bad": moved}, totals=moved)
