"""Batches of rows as work for an engine: each worker loads the fine-tuned model once."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd

from take.engine import Job, Threads
from take.errors import InputError
from take.generation.finetuning.adapter import load_tuned
from take.generation.language_models import LanguageModel
from take.generation.sampling.decoders import Decoder, load_decoder
from take.generation.sampling.guidance import GuidedDecoder, rival_labels
from take.generation.sampling.rows import LengthBounds, RowNumbers, SamplingSettings, write_rows
from take.generation.template import Template
from take.generation.vocabulary import WHOLE, Vocabulary
from take.reuse.digests import module_code, value_digest


@dataclass(frozen=True)
class TunedModel:
    """A fine-tuned model, which is loaded with only its vocabulary's tokens."""

    language_model: LanguageModel
    folder: Path
    vocabulary: Vocabulary

    def __call__(self) -> Any:
        """A transformers model."""
        model = load_tuned(self.language_model, self.folder)
        self.vocabulary.cut(model)
        return model


@dataclass(frozen=True)
class RowSource:
    """All that decides rows, besides their class and numbers."""

    load_model: Callable[[], Any]
    template: Template
    bounds: LengthBounds
    settings: SamplingSettings
    vocabulary: Vocabulary = WHOLE


class WriteRows(Job[RowNumbers, pd.DataFrame]):
    """Generate the rows of a batch. The decoder serves all classes."""

    threads: ClassVar[Threads] = "own"

    def __init__(
        self,
        source: RowSource,
        code: str,
        on_step: Callable[[int, int], None] = lambda tokens, rows_done: None,
    ) -> None:
        """`code`: a digest, where the job is made. `on_step` is for this process only."""
        self._source, self._code, self.on_step = source, code, on_step

    @classmethod
    def of(cls, source: RowSource) -> WriteRows:
        """The job of a source. PyTorch adds in another order with another number of threads."""
        kind = _WriteRowsInTorch if source.settings.decoder == "torch" else cls
        return kind(source, _code())

    def __reduce__(self) -> tuple[type[WriteRows], tuple[RowSource, str]]:
        """Without the decoder."""
        return type(self), (self._source, self._code)

    def prepare(self) -> None:
        """Load the model; refuse libraries that would give other rows than the caller's."""
        if self._code != _code():
            raise InputError(
                "it has other code or libraries to generate rows with than the process that asks "
                "for them",
                where=f"worker {socket.gethostname()}",
                remedy="install the same lock on all machines",
            )
        _ = self._decoder

    def __call__(self, item: RowNumbers) -> pd.DataFrame:
        """The rows of a class with these numbers."""
        source = self._source
        numbers = range(item.start, item.stop)
        guided = self._guided(item.label)
        return write_rows(guided, numbers, source.bounds, source.settings, self.on_step)

    @cached_property
    def _decoder(self) -> Decoder:
        return load_decoder(self._source.settings.decoder, self._source.load_model())

    def _guided(self, label: int) -> GuidedDecoder:
        settings, template = self._source.settings, self._source.template
        others = rival_labels(label, template.n_classes, settings.rivals, settings.seed)
        strength = settings.strength(pairs=len(template.columns) > 1)
        labels = [label, *others] if strength else [label]
        return GuidedDecoder(self._decoder, template, labels, strength, self._source.vocabulary)


class _WriteRowsInTorch(WriteRows):
    threads: ClassVar[Threads] = "run"


def _code() -> str:
    return value_digest(module_code(__name__))
