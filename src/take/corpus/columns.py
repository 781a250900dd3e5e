"""Columns of rows that are read a batch at a time: strings in Arrow's memory, others unchanged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from take.rows.strings import string_column

if TYPE_CHECKING:
    import pyarrow as pa


def compact(values: list[Any]) -> pa.Array | list[Any]:
    """Strings as an Arrow array; unchanged where one value is none, or cannot be UTF-8.

    >>> str(compact(["a", "b"]).type), compact(["a", 1])
    ('large_string', ['a', 1])
    """
    import pyarrow as pa

    if not all(type(value) is str for value in values):
        return values
    try:
        return pa.array(values, pa.large_string())
    except UnicodeEncodeError:  # an unpaired surrogate, which validation names
        return values


class Columns:
    """Rows by column, of as many batches as are added.

    >>> columns = Columns(["text", "label"])
    >>> columns.add({"text": ["fine", "dull"], "label": [1, 0]})
    >>> columns.add({"text": ["good"], "label": [None]})
    >>> columns.frame().dtypes.astype(str).tolist(), len(columns)
    (['str', 'object'], 3)
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._chunks: dict[str, list[Any]] = {name: [] for name in names}
        self._n_rows = 0

    def __len__(self) -> int:
        return self._n_rows

    def add(self, batch: Mapping[str, Any]) -> None:
        """Rows to follow those there are."""
        for name, chunks in self._chunks.items():
            values = batch[name]
            chunks.append(compact(values) if isinstance(values, list) else values)
        self._n_rows += len(next(iter(batch.values())))

    def frame(self) -> pd.DataFrame:
        """All rows: strings as `str`, a column with any other value as objects."""
        return pd.DataFrame({name: _series(chunks) for name, chunks in self._chunks.items()})


def _series(chunks: Sequence[Any]) -> pd.Series:
    import pyarrow as pa

    if chunks and all(isinstance(chunk, pa.Array) for chunk in chunks):
        return string_column(chunks)
    values = (chunk.to_pylist() if isinstance(chunk, pa.Array) else chunk for chunk in chunks)
    return pd.Series([value for chunk in values for value in chunk], dtype=object)
