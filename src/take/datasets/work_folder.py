"""Folders in which long computations keep what they have so far."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kedro.io import AbstractDataset, DatasetError


class StoreFolderDataset(AbstractDataset[None, Path]):
    """Loads a path to results that are kept one by one.

    It has no identity, so that a node that reads it always runs: what is there costs it nothing,
    and what failed or was not computed the last time is tried again.
    """

    def __init__(self, *, filepath: str, metadata: dict[str, Any] | None = None) -> None:
        self._path = Path(filepath)
        self.metadata = metadata

    def load(self) -> Path:
        """Where the folder is, or will be."""
        return self._path

    def save(self, data: None) -> None:
        """A node writes into the folder itself."""
        raise DatasetError("a work folder is a place, not a result")

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._path)}


class WorkFolderDataset(StoreFolderDataset):
    """Loads a path; what is in it changes no result and may be deleted at any time."""

    def identity(self) -> str:
        """The same whatever it holds: it saves time and decides nothing."""
        return "work folder"
