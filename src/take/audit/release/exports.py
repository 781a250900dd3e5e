"""The distilled set as files: JSONL and a `datasets` folder for programs, CSV for people.

The set is a table of id, text (or text_a and text_b), label, label_name and weight.
`check_distilled` stands before all that is written. Its Parquet file is the catalog's business.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from unicodedata import category

import numpy as np
import pandas as pd

from take.corpus.validation import is_unencodable
from take.errors import InputError
from take.rows.labelled import TEXT_COLUMNS, Task, task_of

_NUMBERS = {"label": "int64", "weight": "float64"}

# What begins a formula; Excel in East Asian languages takes the wide forms for the narrow ones.
_SIGNS = r"=+\-@＝＋－＠﹦﹢﹣﹫"
# Unicode's categories of what a spreadsheet may drop from the front of a cell: control characters,
# characters without width (the byte order mark, U+FEFF, is one), blanks.
_UNSEEN = {"Cc", "Cf", "Zl", "Zp", "Zs"}

# JSON allows them in a string, but programs that split text into lines break at some (U+0085,
# U+2028, U+2029), and terminals obey others. The json module escapes those below U+0020.
_UNSAFE_IN_JSON = re.compile(r"[\x7f-\x9f\u2028\u2029]")


def distilled_columns(task: Task) -> tuple[str, ...]:
    """The columns of a distilled set.

    >>> distilled_columns("pair")
    ('id', 'text_a', 'text_b', 'label', 'label_name', 'weight')
    """
    return "id", *TEXT_COLUMNS[task], "label", "label_name", "weight"


def to_csv(table: pd.DataFrame) -> str:
    r"""The set for people to read in a spreadsheet: RFC 4180, with a header.

    To be safe there it is not exact; JSONL and Parquet are. Where a spreadsheet could begin to read
    a formula (OWASP, "CSV injection"), an apostrophe stands before it. NUL, at which some programs
    end the cell or the file, becomes U+FFFD.

    Rows end with "\r\n", as the RFC has it: so they differ from most line breaks inside texts.

    >>> to_csv(pd.DataFrame({"id": ["a1"], "text": ['=HYPERLINK("x")'], "weight": [1.5]}))
    'id,text,weight\r\na1,"\'=HYPERLINK(""x"")",1.5\r\n'
    """
    safe = {column: table[column].map(_safe_cell) for column in _string_columns(table)}
    return str(table.assign(**safe).to_csv(index=False, lineterminator="\r\n"))


def formula_cells(table: pd.DataFrame) -> int:
    """How many cells `to_csv` puts an apostrophe into.

    >>> formula_cells(pd.DataFrame({"text": ["- 5 stars", "5 stars", "fine; =A1", "a = b"]}))
    2
    """
    return sum(
        _formula_start().search(cell) is not None
        for column in _string_columns(table)
        for cell in table[column]
    )


def to_jsonl(table: pd.DataFrame) -> str:
    r"""The set exactly, an object a line, keys in the order of columns.

    Letters of all languages stand as they are. Control characters and Unicode's line separators are
    escaped, so that no program sees more lines than there are rows.

    >>> print(to_jsonl(pd.DataFrame({"text": ["naïve\nfilm"], "weight": [0.1]})), end="")
    {"text": "naïve\nfilm", "weight": 0.1}
    """
    columns = list(table.columns)
    rows = zip(*(table[column].tolist() for column in columns), strict=True)
    return "".join(_json_line(dict(zip(columns, row, strict=True))) for row in rows)


def write_datasets_folder(table: pd.DataFrame, folder: Path, class_names: Sequence[str]) -> None:
    """The set as a folder that `datasets.load_dataset(folder)` reads as the split "train".

    `label` is a ClassLabel that knows the class names. The folder is laid out as
    `Dataset.push_to_hub` does it, with room for a card, README.md. The `datasets` library is not
    needed to write it: what it wants to know of the columns stands in the Parquet file's metadata.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    check_distilled(table, class_names)
    types: dict[str, pa.DataType] = {"label": pa.int64(), "weight": pa.float64()}
    features: dict[str, dict[str, Any]] = {
        column: {"dtype": _NUMBERS.get(column, "string"), "_type": "Value"}
        for column in table.columns
    }
    features["label"] = {"names": list(class_names), "_type": "ClassLabel"}
    schema = pa.schema(
        [(column, types.get(column, pa.string())) for column in table.columns],
        metadata={"huggingface": json.dumps({"info": {"features": features}})},
    )
    rows = pa.table({column: table[column].tolist() for column in table.columns}, schema=schema)
    path = folder / "data" / "train-00000-of-00001.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, path, compression="zstd")


def check_distilled(table: pd.DataFrame, class_names: Sequence[str]) -> None:
    """Refuse a table that is no distilled set of these classes.

    Half a surrogate pair is refused, not escaped: UTF-8 cannot hold it, so Parquet, JSONL and CSV
    would each need a convention of its own that no reader knows.

    >>> table = pd.DataFrame(
    ...     {"id": ["a1"], "text": ["dull"], "label": [2], "label_name": ["bad"], "weight": [1.0]}
    ... )
    >>> check_distilled(table, ["bad", "good"])
    Traceback (most recent call last):
    take.errors.InputError: The distilled set, row 1, column 'label': 2 is the label of no class...
    """
    _check_shape(table)
    strings = _string_columns(table)
    for column in strings:
        _refuse(table, column, lambda value: not isinstance(value, str), "is not a string")
        _refuse(table, column, is_unencodable, "holds half a surrogate pair")
        _refuse(table, column, lambda value: not value.strip(), "is blank")
    _check_labels(table, class_names)
    repeated = table["id"].duplicated().to_numpy()
    if repeated.any():
        row = int(repeated.argmax())
        raise _row_error(table, row, "id", "stands in an earlier row, too")
    _refuse(table, "weight", lambda weight: not np.isfinite(weight), "is no finite number")
    _refuse(table, "weight", lambda weight: weight < 0, "is negative")


def _check_shape(table: pd.DataFrame) -> None:
    where, found = "The distilled set", list(table.columns)
    wanted = distilled_columns(task_of(table))
    allowed = f"{', '.join(distilled_columns('single'))}; for pairs, text_a and text_b for text"
    for column in wanted:
        if column not in found:
            problem = f"there is no column {column!r}"
            raise InputError(problem, where=where, allowed=allowed, remedy="add it")
    # Else the formats would not hold the same: each writes what it can.
    for column in found:
        if column not in wanted or found.count(column) > 1:
            problem = f"column {column!r} is {'repeated' if column in wanted else 'unknown'}"
            raise InputError(problem, where=where, allowed=allowed, remedy="drop it")
    for column, dtype in _NUMBERS.items():
        if table[column].dtype != dtype:
            raise InputError(
                f"the values are {table[column].dtype}",
                where=f"{where}, column {column!r}",
                allowed=dtype,
                remedy="convert them",
            )
    if table.empty:
        raise InputError("there are no rows", where=where, remedy="raise the budget")
    # Pandas writes any other index to Parquet as one more column.
    if not (
        isinstance(table.index, pd.RangeIndex) and table.index.equals(pd.RangeIndex(len(table)))
    ):
        problem = "the index does not count rows from 0"
        raise InputError(problem, where=where, remedy="reset it: table.reset_index(drop=True)")


def _check_labels(table: pd.DataFrame, class_names: Sequence[str]) -> None:
    if len(set(class_names)) != len(class_names):
        raise InputError(
            f"two classes have one name in {list(class_names)}", remedy="name them differently"
        )
    classes = f"; there are {len(class_names)} classes, from 0"
    _refuse(
        table,
        "label",
        lambda label: not 0 <= label < len(class_names),
        f"is the label of no class{classes}",
    )
    pairs = zip(table["label"].tolist(), table["label_name"].tolist(), strict=True)
    for row, (label, name) in enumerate(pairs):
        if name != class_names[label]:
            problem = f"contradicts label {label}, whose name is {class_names[label]!r}"
            raise _row_error(table, row, "label_name", problem)


def _string_columns(table: pd.DataFrame) -> list[str]:
    return [column for column in table.columns if column not in _NUMBERS]


@cache
def _formula_start() -> re.Pattern[str]:
    """The places at which a spreadsheet could begin to read a formula.

    Not only the front of a cell: where numbers have a decimal comma, Excel separates cells at ";".
    Our texts' quotes then stand inside its cells, where they mean nothing, so a ";" in a text ends
    a cell and a line break ends a row. `fine;=A1` has a formula in the middle.
    """
    characters = map(chr, range(sys.maxunicode + 1))
    unseen = {character for character in characters if category(character) in _UNSEEN}
    leading = re.escape("".join(sorted(unseen)))
    # Without line breaks: each is a place of its own, and looking past it would take time that
    # grows with the square of their number.
    inner = re.escape("".join(sorted(unseen - set("\t\r\n"))))
    return re.compile(
        rf"\A(?=[{leading}]*[{_SIGNS}\t\r\n])" rf'|(?<=[;\t\r\n])(?=["{inner}]*[{_SIGNS}])'
    )


def _safe_cell(cell: str) -> str:
    return _formula_start().sub("'", cell).replace("\0", "\ufffd")


def _json_line(row: dict[str, Any]) -> str:
    line = json.dumps(row, ensure_ascii=False, allow_nan=False)
    return _UNSAFE_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", line) + "\n"


def _refuse(table: pd.DataFrame, column: str, is_bad: Callable[[Any], bool], problem: str) -> None:
    for row, value in enumerate(table[column].tolist()):
        if is_bad(value):
            raise _row_error(table, row, column, problem)


def _row_error(table: pd.DataFrame, row: int, column: str, problem: str) -> InputError:
    value = table[column].tolist()[row]
    shown = f"{value!r:.60}"
    if column in TEXT_COLUMNS["single"] + TEXT_COLUMNS["pair"]:
        # A corpus may be confidential, and a text may be near to one of its own: none is quoted.
        size = f" of {len(value):,} characters" if isinstance(value, str) else ""
        shown = f"the {type(value).__name__}{size}"
    return InputError(
        f"{shown} {problem}",
        where=f"The distilled set, row {row + 1}, column '{column}'",
        remedy="mend the row or leave it out",
    )
