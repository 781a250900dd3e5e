"""Embeddings on disk, mapped when loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kedro.io import AbstractDataset

from take.encoder.embeddings import Embeddings


class EmbeddingsDataset(AbstractDataset[Embeddings, Embeddings]):
    """A safetensors file of unique strings' vectors and the rows they stand in."""

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
