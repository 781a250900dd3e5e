"""The encoder φ and its cache, as an input of every node that embeds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kedro.io import AbstractDataset, DatasetError

from take.encoder.cache import whole_segments
from take.encoder.encode import Encoder
from take.encoder.models import EncoderSettings


class EncoderDataset(AbstractDataset[None, Encoder]):
    """Configures the encoder; `filepath` is the folder its cache is kept in."""

    def __init__(
        self, *, filepath: str, encoder: dict[str, Any], metadata: dict[str, Any] | None = None
    ) -> None:
        self._encoder = Encoder(EncoderSettings.model_validate(encoder), Path(filepath))
        self.metadata = metadata

    def identity(self) -> str:
        """A digest of weights, tokenizer, backend and length."""
        return self._encoder.identity

    def check(self) -> None:
        """Name and put aside damaged parts of the cache, though this run may not need them."""
        whole_segments(self._encoder.cache_folder)

    def load(self) -> Encoder:
        """The encoder; its weights are loaded when first used."""
        return self._encoder

    def save(self, data: None) -> None:
        """Weights are read only."""
        raise DatasetError("an encoder is read, never written")

    def _describe(self) -> dict[str, Any]:
        return self._encoder.settings.model_dump()
