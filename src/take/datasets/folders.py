"""Files and folders whose contents are not Kedro's to interpret."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from take.audit.release.folder import Release, write_release
from take.datasets.artifact import PathDataset
from take.datasets.sources import ReadOnlyDataset
from take.generation.verifier.verifier import Verifier


class TextDataset(PathDataset[str, str]):
    r"""Saves and loads a UTF-8 text exactly.

    As bytes: Python's text files, and kedro_datasets' `text.TextDataset` with them, turn "\r\n"
    into "\n" when they read, and on Windows the other way round when they write.
    """

    def load(self) -> str:
        """The text."""
        return self._path.read_bytes().decode("utf-8")

    def save(self, data: str) -> None:
        """Write the text."""
        self._path.write_bytes(data.encode("utf-8"))


class FolderDataset(PathDataset[Path, Path]):
    """Saves a copy of a folder, such as an adapter in peft's layout; loads its path."""

    def load(self) -> Path:
        """Where the folder is."""
        return self._path

    def save(self, data: Path) -> None:
        """Copy the folder's files."""
        shutil.copytree(data, self._path)


class ReleaseFolderDataset(PathDataset[Release, Path]):
    """Saves a release (rows, card, report, manifest); loads its path."""

    def load(self) -> Path:
        """Where the folder is."""
        return self._path

    def save(self, data: Release) -> None:
        """Write the folder."""
        write_release(data, self._path)


class VerifierDataset(PathDataset[Verifier, Path]):
    """Saves a verifier (safetensors, JSON); loads its path, for `load_verifier`."""

    def load(self) -> Path:
        """Where the folder is."""
        return self._path

    def save(self, data: Verifier) -> None:
        """Write the folder."""
        data.save(self._path)


class StoreFolderDataset(ReadOnlyDataset[Path]):
    """Loads the path of a folder in which a long computation keeps its results one by one.

    It has no identity, so that a node that reads it always runs: stored results cost it nothing,
    and what failed or was not computed the last time is tried again.
    """

    def __init__(self, *, filepath: str, metadata: dict[str, Any] | None = None) -> None:
        self._path = Path(filepath)
        self.metadata = metadata

    def load(self) -> Path:
        """Where the folder is, or will be."""
        return self._path

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._path)}


class WorkFolderDataset(StoreFolderDataset):
    """Loads a path; the folder's contents change no result and may be deleted at any time."""

    def identity(self) -> str:
        """The same whatever the folder holds, because that decides nothing."""
        return "work folder"
