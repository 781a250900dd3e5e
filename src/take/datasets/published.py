"""The published figures that our own stand beside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kedro.io import AbstractDataset, DatasetError

from take.evaluation.published import Published, read_published
from take.reuse.digests import file_digest


class PublishedDataset(AbstractDataset[None, Published]):
    """Reads a file such as conf/base/published.yml."""

    def __init__(self, *, filepath: str, metadata: dict[str, Any] | None = None) -> None:
        self._path = Path(filepath)
        self.metadata = metadata

    def identity(self) -> str:
        """A digest of the file."""
        return file_digest(self._path)

    def check(self) -> None:
        """Refuse a file with mistakes before hours are spent on what stands beside it."""
        read_published(self._path)

    def load(self) -> Published:
        """The figures, checked."""
        return read_published(self._path)

    def save(self, data: None) -> None:
        """People write it."""
        raise DatasetError("published figures are read, never written")

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._path)}
