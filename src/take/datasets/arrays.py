"""A dataclass of arrays as a safetensors file."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from kedro.io import AbstractDataset
from kedro.utils import load_obj

from take.reuse.tensors import TensorStream, map_tensors, write_tensors


class ArraysDataset(AbstractDataset[Any, Any]):
    """Saves each field of a dataclass as a tensor; loads the dataclass, its arrays mapped."""

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
