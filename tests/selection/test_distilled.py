"""A table that is no distilled set is refused, and the error names the place."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from take.errors import InputError
from take.rows.labelled import Task
from take.selection.tables import check_distilled, distilled_columns
from tests.audit.release.hostile import NAMES, distilled, distilled_pairs


def test_classes_without_a_row_are_allowed() -> None:
    check_distilled(distilled(["fine"]), NAMES)


def spoilt(column: str, value: Any, row: int = 1, task: Task = "single") -> pd.DataFrame:
    texts = ["first", "second", "third"]
    table = distilled(texts) if task == "single" else distilled_pairs(texts)
    if isinstance(value, str | None):
        table[column] = table[column].astype(object)
    table.loc[row, column] = value
    return table


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (spoilt("text", " \n"), r"row 2, column 'text': the str of 2 characters is blank"),
        (spoilt("text", None), r"row 2, column 'text': the NoneType is not a string"),
        (spoilt("text", "a\ud800"), r"row 2, column 'text': .* holds an unpaired surrogate"),
        (spoilt("text_b", "", task="pair"), r"row 2, column 'text_b': .* is blank"),
        (spoilt("id", ""), r"row 2, column 'id': '' is blank"),
        (spoilt("id", "0000", row=2), r"row 3, column 'id': '0000' occurs in an earlier row"),
        (spoilt("label", 2), r"row 2, column 'label': 2 is the label of no class; there are 2"),
        (spoilt("label", -1), r"row 2, column 'label': -1 is the label of no class"),
        (spoilt("label_name", "bad"), r"row 2, column 'label_name': 'bad' contradicts label 1.*'g"),
        (spoilt("weight", float("nan")), r"row 2, column 'weight': nan is no finite number"),
        (spoilt("weight", float("inf")), r"row 2, column 'weight': inf is no finite number"),
        (spoilt("weight", -0.5), r"row 2, column 'weight': -0.5 is negative"),
    ],
)
def test_a_bad_value_is_refused_and_named(table: pd.DataFrame, message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_distilled(table, NAMES)


@pytest.mark.parametrize("column", distilled_columns("single"))
def test_a_missing_column_is_refused(column: str) -> None:
    with pytest.raises(InputError, match=f"no column '{column.replace('text', 'text_a')}'"):
        check_distilled(distilled(["fine"]).drop(columns=column), NAMES)


def test_a_table_of_another_shape_is_refused() -> None:
    table = distilled(["first", "second"])
    with pytest.raises(InputError, match="column 'rank' is unknown"):
        check_distilled(table.assign(rank=1), NAMES)
    with pytest.raises(InputError, match="column 'id' is repeated"):
        check_distilled(pd.concat([table, table[["id"]]], axis=1), NAMES)
    with pytest.raises(InputError, match="no rows"):
        check_distilled(table.iloc[:0], NAMES)
    with pytest.raises(InputError, match="column 'weight': the values are int64"):
        check_distilled(table.astype({"weight": "int64"}), NAMES)
    with pytest.raises(InputError, match="Two classes have one name"):
        check_distilled(table, ["bad", "bad"])


@pytest.mark.parametrize("index", [[0, 1], [1, 2], pd.RangeIndex(1, 3)])
def test_an_index_that_parquet_would_keep_is_refused(index: Any) -> None:
    table = distilled(["first", "second"])
    table.index = pd.Index(index)
    with pytest.raises(InputError, match=r"index.*reset_index"):
        check_distilled(table, NAMES)


def test_a_text_is_never_quoted() -> None:
    with pytest.raises(InputError) as caught:
        check_distilled(spoilt("text", "secret \udc00"), NAMES)
    assert "secret" not in str(caught.value)
