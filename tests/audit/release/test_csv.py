"""The distilled set for spreadsheets: readable, and nothing in it runs."""

from __future__ import annotations

import csv
import io
import time
import unicodedata

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from take.audit.release.folder import formula_cells, to_csv
from take.selection.tables import distilled_columns
from tests.audit.release.hostile import (
    TEXTS,
    distilled,
    patiently,
)


def csv_cells(text: str, delimiter: str = ",") -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))


def runs_as_formula(cell: str) -> bool:
    """Whether a spreadsheet that drops what it cannot show, and folds wide forms, would run it."""
    unseen = ("Cc", "Cf", "Zl", "Zp", "Zs")
    first = next((c for c in cell if unicodedata.category(c) not in unseen), "")
    if unicodedata.decomposition(first or " ").startswith(("<wide>", "<small>")):
        first = unicodedata.normalize("NFKC", first)
    return first in ("=", "+", "-", "@")


def running_cells(table: pd.DataFrame) -> list[str]:
    """Cells that run in a spreadsheet, whatever it takes for the separator."""
    parsed = [row for delimiter in ",;\t" for row in csv_cells(to_csv(table), delimiter)]
    return [cell for row in parsed for cell in row if runs_as_formula(cell)]


@patiently
@given(st.lists(TEXTS, min_size=1, max_size=5))
def test_no_cell_of_a_csv_runs(texts: list[str]) -> None:
    assert running_cells(distilled(texts)) == []


def test_no_hostile_cell_of_a_csv_runs(hostile: pd.DataFrame) -> None:
    assert running_cells(hostile) == []


@patiently
@given(st.lists(TEXTS, min_size=1, max_size=5))
def test_a_csv_is_the_table_but_for_apostrophes_and_nul(texts: list[str]) -> None:
    table = distilled(texts)
    header, *rows = csv_cells(to_csv(table))
    assert header == list(distilled_columns("single"))
    found = pd.DataFrame(rows, columns=header)
    without = [text.replace("'", "").replace("\0", "\ufffd") for text in texts]
    assert [text.replace("'", "") for text in found["text"]] == without
    changed = sum(len(cell) != len(text) for cell, text in zip(found["text"], texts, strict=True))
    assert changed == formula_cells(table)
    assert found["weight"].astype(float).tolist() == table["weight"].tolist()
    assert found["label"].astype(int).tolist() == table["label"].tolist()


def test_text_without_a_formula_is_unchanged() -> None:
    texts = ["a = b", "3 - 4", "mail me @ home", "'quoted'", "fine; then", "one\ntwo", "1e5", "#!"]
    table = distilled(texts)
    assert formula_cells(table) == 0
    assert [row[1] for row in csv_cells(to_csv(table))[1:]] == texts


@pytest.mark.parametrize("front", ["", " ", "\t", "\r", "\n", "\ufeff", "\u200b", "\0", "\u202e"])
@pytest.mark.parametrize("sign", list("=+-@＝＋－＠"))
def test_every_sign_is_neutralised_after_invisible_characters(front: str, sign: str) -> None:
    table = distilled([f"{front}{sign}1"])
    cell = csv_cells(to_csv(table))[1][1]
    assert cell.startswith("'")
    assert formula_cells(table) == 1


@pytest.mark.parametrize("text", ["\tplain", "\rplain", " \tplain"])
def test_a_leading_tab_or_return_is_neutralised_too(text: str) -> None:
    assert csv_cells(to_csv(distilled([text])))[1][1] == f"'{text}"


def test_ids_and_label_names_are_neutralised_and_numbers_are_not() -> None:
    table = distilled(["fine"], [1e-7]).assign(id="-1", label_name="@bad")
    assert csv_cells(to_csv(table))[1] == ["'-1", "fine", "0", "'@bad", "1e-07"]
    assert formula_cells(table) == 2


def test_csv_rows_end_as_the_rfc_says() -> None:
    written = to_csv(distilled(["one\ntwo", "three"]))
    assert written.endswith("\r\n")
    assert written.count("\r\n") == 3
    assert not written.startswith("\ufeff")


def test_long_runs_of_separators_are_searched_once() -> None:
    table = distilled(["a" + "\n" * 100_000 + "b", "a" + "; " * 50_000 + "b"])
    start = time.process_time()
    assert formula_cells(table) == 0
    assert time.process_time() - start < 5  # 0.2 s; 40 s if each looked past the others
