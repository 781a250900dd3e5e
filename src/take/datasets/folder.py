"""A folder of files that another tool defines, such as an adapter in peft's layout."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from kedro.io import AbstractDataset


class FolderDataset(AbstractDataset[Path, Path]):
    """Saves a copy of a folder; loads its path."""

    def __init__(self, *, filepath: str) -> None:
        self._path = Path(filepath)

    def load(self) -> Path:
        """Where the folder is."""
        return self._path

    def save(self, data: Path) -> None:
        """Copy the folder's files."""
        shutil.copytree(data, self._path)

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._path)}
