"""One text file, UTF-8."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kedro.io import AbstractDataset


class TextDataset(AbstractDataset[str, str]):
    r"""Saves and loads a text exactly.

    As bytes: Python's text files, and kedro_datasets' `text.TextDataset` with them, turn "\r\n"
    into "\n" when they read, and on Windows the other way round when they write.
    """

    def __init__(self, *, filepath: str) -> None:
        self._path = Path(filepath)

    def load(self) -> str:
        """The text."""
        return self._path.read_bytes().decode("utf-8")

    def save(self, data: str) -> None:
        """Write the text."""
        self._path.write_bytes(data.encode("utf-8"))

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._path)}
