"""Generated rows on disk as they come: a killed run goes on where it was."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import pandas as pd

from take.reuse.atomic import atomic_path
from take.reuse.records import damage, record_path, set_aside, write_record

_logger = logging.getLogger(__name__)

_PART = re.compile(r"class-(\d+)-rows-(\d+)-(\d+)\.parquet")


class RowStore:
    """Parts of consecutive rows of a class, each written whole or not at all."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def add(self, rows: pd.DataFrame) -> None:
        """Keep rows of one class whose numbers follow each other."""
        label, first, last = rows["label"].iloc[0], rows["index"].iloc[0], rows["index"].iloc[-1]
        path = self._folder / f"class-{label}-rows-{first:08d}-{last + 1:08d}.parquet"
        with atomic_path(path) as temporary:
            rows.to_parquet(temporary, index=False)
        write_record(path)

    def read(self, label: int, start: int, stop: int) -> pd.DataFrame:
        """What is kept of the rows start … stop−1 of a class: all up to the first one missing."""
        parts, reached = [], start
        for first, after, path in self._parts(label):
            if first <= reached < after and reached < stop:
                if problem := damage(path):
                    _logger.warning("%s; put aside as %s.", problem, set_aside(path).name)
                    break
                rows = pd.read_parquet(path)
                parts.append(rows[(rows["index"] >= reached) & (rows["index"] < stop)])
                reached = min(after, stop)
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()

    def _parts(self, label: int) -> list[tuple[int, int, Path]]:
        found = []
        for path in sorted(self._folder.glob(f"class-{label}-rows-*.parquet")):
            match = _PART.fullmatch(path.name)
            if match and record_path(path).exists():
                found.append((int(match[2]), int(match[3]), path))
        return sorted(found)
