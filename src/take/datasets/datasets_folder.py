"""The distilled set as a folder that the `datasets` library reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kedro.io import AbstractDataset

from take.distillation.exports import DistilledSet, write_datasets_folder


class DatasetsFolderDataset(AbstractDataset[DistilledSet, Path]):
    """Saves a distilled set; loads the path to give to `datasets.load_dataset`."""

    def __init__(self, *, filepath: str) -> None:
        self._path = Path(filepath)

    def load(self) -> Path:
        """Where the folder is."""
        return self._path

    def save(self, data: DistilledSet) -> None:
        """Write the folder."""
        write_datasets_folder(data.rows, self._path, data.class_names)

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._path)}
