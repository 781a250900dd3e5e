"""Arrays on disk as safetensors, mapped when loaded."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
from kedro.utils import load_obj

from take.datasets.artifact import PathDataset
from take.encoder.embeddings import Embeddings
from take.reuse.tensors import TensorStream, map_tensors, write_tensors


class ArraysDataset(PathDataset[Any, Any]):
    """Saves each field of a dataclass as a tensor; loads the dataclass with its arrays mapped."""

    def __init__(self, *, filepath: str, dataclass: str) -> None:
        super().__init__(filepath=filepath)
        self._dataclass = dataclass

    def load(self) -> Any:
        """The dataclass."""
        return load_obj(self._dataclass)(**map_tensors(self._path))

    def save(self, data: Any) -> None:
        """Write the fields; a `TensorStream` is computed as it is written."""
        values = {field.name: getattr(data, field.name) for field in fields(data)}
        write_tensors(self._path, {name: _streamed(value) for name, value in values.items()})


def _streamed(value: Any) -> TensorStream:
    return value if isinstance(value, TensorStream) else TensorStream.of(np.asarray(value))


class EmbeddingsDataset(PathDataset[Embeddings, Embeddings]):
    """The vectors of unique strings, and the rows they belong to."""

    def load(self) -> Embeddings:
        """Map the file; rows are read as they are used."""
        return Embeddings.load(self._path)

    def save(self, data: Embeddings) -> None:
        """Stream the vectors to the file."""
        data.save(self._path)
