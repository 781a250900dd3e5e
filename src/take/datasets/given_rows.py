"""A file of labelled rows that a user wants evaluated, if there is one."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import Any

from kedro.io import AbstractDataset, DatasetError

from take.artifacts.digests import file_digest, value_digest


class GivenRowsDataset(AbstractDataset[None, str | None]):
    """Loads the file's name; its contents decide whether an evaluation has to run again.

    `{seed}` in the name stands for any number: a file for each seed.
    """

    def __init__(self, *, filepath: str | None, metadata: dict[str, Any] | None = None) -> None:
        self._name = None if filepath is None else str(filepath)
        self.metadata = metadata

    def identity(self) -> str:
        """A digest of the file, or of all the files that the name may stand for."""
        if self._name is None:
            return "no file"
        # The seed may stand in a folder's name, too; other characters mean themselves.
        pattern = glob.escape(self._name).replace("{seed}", "*")
        files = [Path(file) for file in glob.glob(pattern)]  # noqa: PTH207 - it may be absolute
        return value_digest({str(file): file_digest(file) for file in files if file.is_file()})

    def load(self) -> str | None:
        """The name; what reads the rows also says what is wrong with them."""
        return self._name

    def save(self, data: None) -> None:
        """Users write it."""
        raise DatasetError("a user's rows are read, never written")

    def _describe(self) -> dict[str, Any]:
        return {"filepath": self._name}
