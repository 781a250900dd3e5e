"""A release as a folder: rows, card, report, manifest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kedro.io import AbstractDataset

from take.audit.release.folder import Release, write_release


class ReleaseFolderDataset(AbstractDataset[Release, Path]):
    """Saves a release; loads its path."""

    def __init__(self, *, filepath: str) -> None:
        self._path = Path(filepath)

    def load(self) -> Path:
        """Where the folder is."""
        return self._path

    def save(self, data: Release) -> None:
        """Write the folder."""
        write_release(data, self._path)

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._path)}
