"""The encoder and the language model, as inputs of the nodes that use them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from take.datasets.sources import ReadOnlyDataset
from take.encoder.cache import whole_segments
from take.encoder.encode import Encoder
from take.encoder.models import EncoderSettings
from take.errors import InputError, problems
from take.generation.language_models import LanguageModel, LanguageModelSettings


class EncoderDataset(ReadOnlyDataset[Encoder]):
    """Configures the encoder φ; `filepath` is the folder of its cache."""

    def __init__(
        self, *, filepath: str, encoder: dict[str, Any], metadata: dict[str, Any] | None = None
    ) -> None:
        try:
            settings = EncoderSettings.model_validate(encoder)
        except ValidationError as error:
            raise InputError(problems(error), where="globals.yml, encoder") from error
        self._encoder = Encoder(settings, Path(filepath))
        self.metadata = metadata

    def identity(self) -> str:
        """A digest of weights, tokenizer, backend and length."""
        return self._encoder.identity

    def check(self) -> None:
        """Name and set aside damaged parts of the cache, even if this run does not need them."""
        whole_segments(self._encoder.cache_folder)

    def load(self) -> Encoder:
        """The encoder; its weights are loaded when first used."""
        return self._encoder

    def _describe(self) -> dict[str, Any]:
        return self._encoder.settings.model_dump()


class LanguageModelDataset(ReadOnlyDataset[LanguageModel]):
    """Configures the language model; `filepath` is the folder of files derived from it."""

    def __init__(
        self,
        *,
        filepath: str,
        language_model: dict[str, Any],
        metadata: dict[str, Any] | None = None,
    ) -> None:
        settings = LanguageModelSettings.model_validate(language_model)
        self._language_model = LanguageModel(settings, Path(filepath))
        self.metadata = metadata

    def identity(self) -> str:
        """A digest of weights, configuration and tokenizer."""
        return self._language_model.identity

    def check(self) -> None:
        """Refuse a model that is not there before the run spends time on earlier nodes."""
        self.identity()

    def load(self) -> LanguageModel:
        """The language model; its weights are loaded when first used."""
        return self._language_model

    def _describe(self) -> dict[str, Any]:
        return self._language_model.settings.model_dump()
