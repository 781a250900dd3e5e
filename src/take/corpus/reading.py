"""Strict readers of CSV, TSV, JSONL and Parquet: damage is named with its line, never repaired."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from take.corpus.columns import Columns
from take.corpus.files import (
    COMPRESSED,
    check_decodes,
    check_ending,
    check_file,
    ending,
    opened_text,
)
from take.errors import InputError
from take.rows.strings import BATCH_ROWS
from take.text.format import opening, plural

if TYPE_CHECKING:
    import pyarrow as pa

_RESEMBLES = 0.7
"""How like the wanted name a column's name must be to be shown."""
_NAME_COLUMNS = "name the right column under 'columns' in corpora.yml"

Batch = Mapping[str, Any]
"""Some rows by column: a list of values, or an Arrow array of strings."""


def read_table(path: Path, columns: Sequence[str], encoding: str = "utf-8") -> pd.DataFrame:
    """The wanted columns of a file, values as they are."""
    table = Columns(columns)
    for batch in read_batches(path, columns, encoding):
        table.add(batch)
    return table.frame()


def read_batches(path: Path, columns: Sequence[str], encoding: str = "utf-8") -> Iterator[Batch]:
    """The wanted columns of a file, a batch of rows at a time."""
    check_ending(path)
    check_file(path, "corpora.yml")
    kind = ending(path).removesuffix(COMPRESSED)
    try:
        if kind == ".parquet":
            yield from _parquet_batches(path, columns)
            return
        check_decodes(path, encoding)
        records = (
            _json_records(path, columns, encoding)
            if kind == ".jsonl"
            else _csv_records(path, columns, encoding, "\t" if kind == ".tsv" else ",")
        )
        while batch := list(islice(records, BATCH_ROWS)):
            yield {name: [record[place] for record in batch] for place, name in enumerate(columns)}
    except OSError as error:
        raise InputError(
            f"the file cannot be read ({error.strerror or type(error).__name__})",
            where=str(path),
            remedy="check its permissions and the disk",
        ) from error


def check_columns(
    found: Sequence[str],
    wanted: Sequence[str],
    where: str,
    remedy: str = _NAME_COLUMNS,
) -> None:
    """Refuse a table that lacks a wanted column or has it twice.

    Other columns are counted, not named, unless one resembles the wanted one: in a CSV file
    without a header they are the first row, texts included.
    """
    for column in wanted:
        if column not in found:
            folded = {name.strip().casefold(): name for name in found}
            near = get_close_matches(column.casefold(), folded, n=1, cutoff=_RESEMBLES)
            hint = f"did you mean {folded[near[0]]!r}? Otherwise " if near else ""
            raise InputError(
                f"there is no column {column!r} among {plural(len(found), 'column')}",
                where=where,
                remedy=f"{hint}{remedy}",
            )
        if found.count(column) > 1:
            raise InputError(
                f"column {column!r} appears twice", where=where, remedy="remove one of the two"
            )


def _csv_records(
    path: Path, columns: Sequence[str], encoding: str, delimiter: str
) -> Iterator[list[str]]:
    # The csv module rather than pandas: it refuses what pandas repairs (short or long records).
    csv.field_size_limit(sys.maxsize)
    with opened_text(path, encoding, newline="") as stream:
        reader = csv.reader(stream, strict=True, delimiter=delimiter)
        try:
            header = next(reader, [])
            remedy = f"{_NAME_COLUMNS}; this line has to be the header"
            check_columns(header, columns, f"{path}, line 1", remedy)
            picked = [header.index(column) for column in columns]
            for record in reader:
                if not record:
                    continue
                if len(record) != len(header):
                    raise InputError(
                        f"malformed CSV: {len(record)} fields where the header has {len(header)}",
                        where=f"{path}, line {reader.line_num}",
                        remedy="quote texts that hold commas or line breaks",
                    )
                yield [record[i] for i in picked]
        except csv.Error as error:
            raise InputError(
                f"malformed CSV: {error}",
                where=f"{path}, line {reader.line_num}",
                remedy='quote texts that hold commas, and write " inside quotes as ""',
            ) from error


class JSONObject(list[tuple[str, Any]]):
    """The keys and values of a JSON object; a dictionary would hide that a key is repeated."""


def _json_records(path: Path, columns: Sequence[str], encoding: str) -> Iterator[list[Any]]:
    decoder = json.JSONDecoder(object_pairs_hook=JSONObject)
    with opened_text(path, encoding) as stream:
        for number, line in enumerate(stream, start=1):
            if not line.strip():
                continue
            where = f"{path}, line {number}"
            try:
                record = decoder.decode(line)
            except (ValueError, RecursionError) as error:  # malformed, or nested too deeply
                raise InputError(
                    f"malformed JSON: {str(error)[:100]}",
                    where=where,
                    remedy="one JSON object a line",
                ) from error
            if not isinstance(record, JSONObject):
                raise InputError(
                    f"a {type(record).__name__}, not an object",
                    where=where,
                    remedy="one JSON object a line",
                )
            check_columns([key for key, _ in record], columns, where)
            values = dict(record)
            yield [values[column] for column in columns]


def _parquet_batches(path: Path, columns: Sequence[str]) -> Iterator[Batch]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows_before = 0
    try:
        check_columns(pq.read_schema(path).names, columns, str(path))
        # Otherwise the columns of a row group are in memory whole.
        with pq.ParquetFile(path, pre_buffer=False, buffer_size=1 << 20) as file:
            for batch in file.iter_batches(BATCH_ROWS, columns=list(columns)):
                yield {
                    name: arrow_values(batch[name], f"{path}", name, rows_before)
                    for name in columns
                }
                rows_before += len(batch)
    except (pa.ArrowException, OSError, UnicodeError) as error:
        raise InputError(
            f"not a whole Parquet file ({opening(str(error), 100) or type(error).__name__})",
            where=str(path),
            remedy="fetch or write it again; it is truncated or damaged",
        ) from error


def arrow_values(column: Any, origin: str, name: str, rows_before: int = 0) -> pa.Array | list[Any]:
    """The values of an Arrow array, whose strings may not be UTF-8 whatever their type says."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        try:
            column.validate(full=True)
        except pa.ArrowInvalid:
            pass  # the row is found below
        else:
            if not column.null_count:
                return column.cast(pa.large_string())
    values = []
    for row, value in enumerate(column, start=rows_before + 1):
        try:
            values.append(value.as_py())
        except (ValueError, OverflowError) as error:
            raise InputError(
                f"the value cannot be read ({type(error).__name__})",
                where=f"{origin}, row {row}, column {name!r}",
                remedy="write the file again, with strings in UTF-8",
            ) from error
    return values
