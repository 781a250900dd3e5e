"""Strict readers of CSV, JSONL and Parquet: damage is named with its line, never repaired."""

from __future__ import annotations

import codecs
import csv
import json
import sys
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import pandas as pd

from take.errors import InputError, closest
from take.text.format import opening, plural

_CHUNK = 1 << 20
_RESEMBLES = 0.7
"""How like the wanted name a column's name must be to be shown."""
_ENCODING = "state the source's 'encoding' in corpora.yml (e.g. latin-1)"
_NAME_COLUMNS = "name the right column under 'columns' in corpora.yml"


def read_table(path: Path, columns: Sequence[str], encoding: str = "utf-8") -> pd.DataFrame:
    """The wanted columns of a .csv, .jsonl or .parquet file, values as they are."""
    readers = {".csv": _read_csv, ".jsonl": _read_jsonl, ".parquet": _read_parquet}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise InputError(
            f"files ending in {path.suffix!r} are not read",
            where=str(path),
            allowed=", ".join(readers),
        )
    check_file(path, "corpora.yml")
    try:
        return reader(path, columns, encoding)
    except OSError as error:
        raise InputError(
            f"the file cannot be read ({error.strerror or type(error).__name__})",
            where=str(path),
            remedy="check its permissions and the disk",
        ) from error


def check_file(path: Path, setting: str) -> None:
    """Refuse a path that is no file; `setting` is where it was given."""
    if path.is_dir():
        raise InputError(
            "this is a folder, not a file", where=str(path), remedy=f"name a file in {setting}"
        )
    if not path.is_file():
        folder = path.parent
        near = [file.name for file in folder.glob("*") if file.is_file()] if folder.is_dir() else []
        raise InputError(
            "there is no such file",
            where=str(path),
            remedy=closest(path.name, near) if near else f"check the path in {setting}",
        )


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


def _read_csv(path: Path, columns: Sequence[str], encoding: str) -> pd.DataFrame:
    _check_decodes(path, encoding)
    # The csv module rather than pandas: it refuses what pandas repairs (short or long records).
    csv.field_size_limit(sys.maxsize)
    with path.open(encoding=_with_bom(encoding), newline="") as stream:
        reader = csv.reader(stream, strict=True)
        try:
            header = next(reader, [])
            remedy = f"{_NAME_COLUMNS}; this line has to be the header"
            check_columns(header, columns, f"{path}, line 1", remedy)
            picked = [header.index(column) for column in columns]
            records = list(_csv_records(reader, len(header), picked, path))
        except csv.Error as error:
            raise InputError(
                f"malformed CSV: {error}",
                where=f"{path}, line {reader.line_num}",
                remedy='quote texts that hold commas, and write " inside quotes as ""',
            ) from error
    return pd.DataFrame(records, columns=list(columns), dtype=object)


def _csv_records(
    reader: Any, n_fields: int, picked: Sequence[int], path: Path
) -> Iterator[list[str]]:
    for record in reader:
        if not record:
            continue
        if len(record) != n_fields:
            raise InputError(
                f"malformed CSV: {len(record)} fields where the header has {n_fields}",
                where=f"{path}, line {reader.line_num}",
                remedy="quote texts that hold commas or line breaks",
            )
        yield [record[i] for i in picked]


class JSONObject(list[tuple[str, Any]]):
    """The keys and values of a JSON object; a dictionary would hide that a key is repeated."""


def _read_jsonl(path: Path, columns: Sequence[str], encoding: str) -> pd.DataFrame:
    _check_decodes(path, encoding)
    records = []
    decoder = json.JSONDecoder(object_pairs_hook=JSONObject)
    with path.open(encoding=_with_bom(encoding)) as stream:
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
            records.append([values[column] for column in columns])
    return pd.DataFrame(records, columns=list(columns), dtype=object)


def _read_parquet(path: Path, columns: Sequence[str], encoding: str) -> pd.DataFrame:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        names = pq.read_schema(path).names
        check_columns(names, columns, str(path))
        table = pq.read_table(path, columns=list(columns))
    except (pa.ArrowException, OSError, UnicodeError) as error:
        raise InputError(
            f"not a whole Parquet file ({opening(str(error), 100) or type(error).__name__})",
            where=str(path),
            remedy="fetch or write it again; it is truncated or damaged",
        ) from error
    return pd.DataFrame({name: _values(table[name], name, path) for name in columns}, dtype=object)


def _values(column: Any, name: str, path: Path) -> list[Any]:
    """The values of a Parquet column, whose strings may not be UTF-8 whatever the file says."""
    values = []
    for row, value in enumerate(column, start=1):
        try:
            values.append(value.as_py())
        except (ValueError, OverflowError) as error:
            raise InputError(
                f"the value cannot be read ({type(error).__name__})",
                where=f"{path}, row {row}, column {name!r}",
                remedy="write the file again, with strings in UTF-8",
            ) from error
    return values


def _with_bom(encoding: str) -> str:
    return "utf-8-sig" if codecs.lookup(encoding).name == "utf-8" else encoding


def _check_decodes(path: Path, encoding: str) -> None:
    """Refuse NUL bytes and bytes that are not in the stated encoding, naming the line."""
    try:
        "".encode(encoding)  # refuses codecs such as hex that are not of text
        decoder = codecs.getincrementaldecoder(encoding)("strict")
    except LookupError as error:
        raise InputError(
            f"unknown encoding {encoding!r:.40}", where=str(path), remedy=_ENCODING
        ) from error
    is_wide = encoding.lower().startswith(("utf-16", "utf_16", "utf-32", "utf_32"))
    line = 1
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            if not is_wide and (at := chunk.find(b"\0")) >= 0:
                raise InputError(
                    "NUL byte",
                    where=f"{path}, line {line + chunk.count(10, 0, at)}",
                    remedy="text files hold no NUL; is this a binary or UTF-16 file?",
                )
            try:
                decoder.decode(chunk)
            except UnicodeDecodeError as error:
                bad_line = line + chunk.count(10, 0, max(error.start, 0))
                raise InputError(
                    f"byte 0x{error.object[error.start]:02x} is not {encoding}",
                    where=f"{path}, line {bad_line}",
                    remedy=_ENCODING,
                ) from error
            except UnicodeError as error:  # of the whole file: UTF-16 without its first two bytes
                raise InputError(str(error), where=str(path), remedy=_ENCODING) from error
            line += chunk.count(10)
    try:
        decoder.decode(b"", final=True)
    except UnicodeError as error:
        raise InputError(
            f"ends inside a character of {encoding}", where=str(path), remedy=_ENCODING
        ) from error
