"""Columns of strings that take the room of their bytes: pandas' `str`, in Arrow's memory.

A Python string of a short text takes twice its bytes, and a list of them more. So rows are Python
objects a batch at a time, and stay in Arrow's memory otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import pandas as pd

from take.rows.arrays import Bools
from take.rows.blocks import block_bounds

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS = 65_536
"""Rows that are Python objects at a time."""
_CHUNK_BATCHES = 16
"""Batches in one piece of memory: as many rows as a row group of a Parquet file has."""


def string_column(batches: Iterable[pa.Array]) -> pd.Series:
    """A column of the strings of all batches.

    >>> import pyarrow as pa
    >>> string_column(pa.array(part, pa.large_string()) for part in (["a", "b"], ["c"])).tolist()
    ['a', 'b', 'c']
    """
    import pyarrow as pa

    rest, chunks = iter(batches), list[pa.Array]()
    while some := list(islice(rest, _CHUNK_BATCHES)):
        chunks.append(pa.concat_arrays(some))
    column: pd.Series = pa.chunked_array(chunks, pa.large_string()).to_pandas()
    return column


def is_among(strings: pd.Series, others: pd.Series) -> Bools:
    """Which strings are among the others; pandas' `isin` makes Python objects of both.

    >>> is_among(pd.Series(["a", "b"], dtype="str"), pd.Series(["b"], dtype="str")).tolist()
    [False, True]
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    ours, theirs = (pa.array(side, pa.large_string()) for side in (strings, others))
    if isinstance(theirs, pa.ChunkedArray):
        theirs = theirs.combine_chunks()
    found: Bools = pc.is_in(ours, value_set=theirs).to_numpy(zero_copy_only=False)
    return found


def batches_of(rows: pd.DataFrame, columns: Sequence[str]) -> Iterator[list[tuple[str, ...]]]:
    """The values of these columns row by row, a batch at a time.

    >>> list(batches_of(pd.DataFrame({"a": ["x", "y"], "b": ["p", "q"]}), ["b", "a"]))
    [[('p', 'x'), ('q', 'y')]]
    """
    for start, stop in block_bounds(len(rows), BATCH_ROWS):
        block = (rows[column].iloc[start:stop].tolist() for column in columns)
        yield list(zip(*block, strict=True))
