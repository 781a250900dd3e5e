"""The language model and the folder it works in, as an input of every node that generates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kedro.io import AbstractDataset, DatasetError

from take.generation.language_models import LanguageModel, LanguageModelSettings


class LanguageModelDataset(AbstractDataset[None, LanguageModel]):
    """Configures the language model; `filepath` is the folder of what is derived from it."""

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
        """Refuse a model that is not there before the run spends its time on what comes first."""
        self.identity()

    def load(self) -> LanguageModel:
        """The language model; its weights are loaded when first used."""
        return self._language_model

    def save(self, data: None) -> None:
        """Weights are read only."""
        raise DatasetError("a language model is read, never written")

    def _describe(self) -> dict[str, Any]:
        return self._language_model.settings.model_dump()
