"""A folder in which a long computation keeps what it has so far."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kedro.io import AbstractDataset, DatasetError


class WorkFolderDataset(AbstractDataset[None, Path]):
    """Loads a path; what is in it changes no result and may be deleted at any time."""

    def __init__(self, *, filepath: str, metadata: dict[str, Any] | None = None) -> None:
        self._path = Path(filepath)
        self.metadata = metadata

    def identity(self) -> str:
        """The same whatever it holds: it saves time and decides nothing."""
        return "work folder"

    def load(self) -> Path:
        """Where the folder is, or will be."""
        return self._path

    def save(self, data: None) -> None:
        """A node writes into the folder itself."""
        raise DatasetError("a work folder is a place, not a result")

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._path)}
