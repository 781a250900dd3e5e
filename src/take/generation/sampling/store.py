"""Generated rows on disk, part by part: a killed run resumes where it was."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd

from take.reuse.store import KeyedStore

_PART = re.compile(r"class-(\d+)-rows-(\d+)-(\d+)\.parquet")


class RowStore:
    """Parts of consecutive rows of a class."""

    def __init__(self, folder: Path) -> None:
        self._store = KeyedStore(folder, "its rows are generated again")

    def add(self, rows: pd.DataFrame) -> None:
        """Keep rows of one class with consecutive numbers."""
        label, first, last = rows["label"].iloc[0], rows["index"].iloc[0], rows["index"].iloc[-1]
        name = f"class-{label}-rows-{first:08d}-{last + 1:08d}.parquet"
        with self._store.writing(name) as temporary:
            rows.to_parquet(temporary, index=False)

    def read(self, label: int, start: int, stop: int) -> pd.DataFrame:
        """What is kept of the rows start … stop−1 of a class: all up to the first one missing."""
        parts, reached = [], start
        for first, after, path in self._parts(label):
            if first <= reached < after and reached < stop:
                if not self._store.is_whole(path):
                    break
                rows = pd.read_parquet(path)
                parts.append(rows[(rows["index"] >= reached) & (rows["index"] < stop)])
                reached = min(after, stop)
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()

    def _parts(self, label: int) -> list[tuple[int, int, Path]]:
        found = []
        for path in self._store.files(f"class-{label}-rows-*.parquet"):
            if match := _PART.fullmatch(path.name):
                found.append((int(match[2]), int(match[3]), path))
        return sorted(found)
