"""Arrays on disk as safetensors, mapped when loaded."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from kedro.io import AbstractDataset
from kedro.utils import load_obj

from take.encoder.embeddings import Embeddings
from take.reuse.tensors import TensorStream, map_tensors, write_tensors


class ArraysDataset(AbstractDataset[Any, Any]):
    """Saves each field of a dataclass as a tensor; loads the dataclass with its arrays mapped."""

    def __init__(self, *, filepath: str, dataclass: str) -> None:
        self._path = Path(filepath)
        self._dataclass = dataclass

    def load(self) -> Any:
        """The dataclass."""
        return load_obj(self._dataclass)(**map_tensors(self._path))

    def save(self, data: Any) -> None:
        """Write the fields."""
        arrays = {field.name: np.asarray(getattr(data, field.name)) for field in fields(data)}
        write_tensors(self._path, {name: TensorStream.of(array) for name, array in arrays.items()})

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._path), "dataclass": self._dataclass}


class EmbeddingsDataset(AbstractDataset[Embeddings, Embeddings]):
    """The vectors of unique strings, and the rows they belong to."""

    def __init__(self, *, filepath: str) -> None:
        self._path = Path(filepath)

    def load(self) -> Embeddings:
        """Map the file; rows are read as they are used."""
        return Embeddings.load(self._path)

    def save(self, data: Embeddings) -> None:
        """Stream the vectors to the file."""
        data.save(self._path)

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._path)}
