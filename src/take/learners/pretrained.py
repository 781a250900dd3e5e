"""A pretrained transformer's files, tokenizer and fresh copies of its weights.

Loaded once and shared by all cells: each fine-tuning begins from its own copy.
"""

from __future__ import annotations

import copy
import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from take.encoder.models import EncoderModel, EncoderSettings
from take.errors import InputError
from take.generation.language_models import LanguageModel, LanguageModelSettings
from take.learners.base import Remembered, Texts
from take.learners.settings import TransformerSettings
from take.model_files import hub_folder, hush_transformers
from take.reuse.digests import file_digest

# No *.bin, no *.py: weights are safetensors, and a model's own code is never run.
_HUB_FILES = ("*.json", "*.txt", "*.safetensors")
_PAIR_JOINT = "\n"  # between the texts of a pair, for tokenizers that know no pairs


@dataclass(frozen=True)
class Tokens:
    """Token ids of each row, and which text of a pair each token belongs to."""

    ids: list[list[int]]
    segments: list[list[int]]
    cut_rows: int  # longer than the model reads


class Pretrained:
    """A transformer as it was before any row was seen."""

    def __init__(self, settings: TransformerSettings, language_models: Path) -> None:
        self._settings, self._language_models = settings, language_models
        self.tokens = Remembered(self._tokenise)

    @cached_property
    def folder(self) -> Path:
        """Where the files are, fetched from the hub if need be."""
        model, revision = self._settings.model, self._settings.revision
        if model == "embedded":
            return EncoderModel(EncoderSettings()).folder
        if model == "embedded_lm":
            return LanguageModel(LanguageModelSettings(), self._language_models).folder
        local = Path(model).is_dir()
        folder = (
            Path(model)
            if local
            else hub_folder(model, revision, _HUB_FILES, "transformer", "transformer")
        )
        for pattern in ("config.json", "tokenizer.json", "*.safetensors"):
            if not list(folder.glob(pattern)):
                raise InputError(
                    f"transformer {model!r} has no {pattern}",
                    where=str(folder),
                    remedy="save model and fast tokenizer with `save_pretrained`",
                )
        return folder

    @property
    def title(self) -> str:
        """Whose weights they are."""
        model, revision = self._settings.model, self._settings.revision
        if model == "embedded":
            return "all-MiniLM-L6-v2 (a sentence encoder)"
        if model == "embedded_lm":
            return LanguageModel(LanguageModelSettings(), self._language_models).title
        return f"{model}@{revision[:8]}" if revision else model

    @cached_property
    def identity(self) -> str:
        """A digest of weights, configuration and tokenizer."""
        files = [self.folder / "config.json", self.folder / "tokenizer.json"]
        files += sorted(self.folder.glob("*.safetensors"))
        digests = "".join(f"{file.name}:{file_digest(file)}\n" for file in files)
        return hashlib.sha256(digests.encode()).hexdigest()

    @cached_property
    def config(self) -> dict[str, Any]:
        """Its config.json."""
        config: dict[str, Any] = json.loads((self.folder / "config.json").read_text("utf-8"))
        return config

    @property
    def is_causal(self) -> bool:
        """Whether a token sees only what stands before it."""
        return any("CausalLM" in name for name in self.config.get("architectures") or [])

    @property
    def reads_segments(self) -> bool:
        """Whether it is told which text of a pair a token belongs to."""
        return int(self.config.get("type_vocab_size") or 0) >= 2

    @cached_property
    def _weights(self) -> Any:
        import torch
        from transformers import AutoModel

        hush_transformers()
        return AutoModel.from_pretrained(
            self.folder,
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
            dtype=torch.float32,
            attn_implementation="sdpa",
        )

    def fresh(self) -> Any:
        """A copy of the transformer, to be changed."""
        return copy.deepcopy(self._weights)

    @cached_property
    def _tokenizer(self) -> Any:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(self.folder / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.enable_truncation(self._settings.max_tokens)
        return tokenizer

    def _tokenise(self, texts: Texts) -> Tokens:
        rows: list[Any] = list(texts.columns[0])
        if texts.is_pair:
            rows = list(zip(*texts.columns, strict=True))
            if not self._parts_pairs:
                rows = [_PAIR_JOINT.join(pair) for pair in rows]
        encodings = self._tokenizer.encode_batch(rows)
        return Tokens(
            # A text of nothing but blanks may have no token at all in some vocabularies.
            [encoding.ids or [0] for encoding in encodings],
            [encoding.type_ids or [0] for encoding in encodings],
            sum(bool(encoding.overflowing) for encoding in encodings),
        )

    @cached_property
    def _parts_pairs(self) -> bool:
        """Whether the tokenizer puts a mark of its own between two texts."""
        owners = self._tokenizer.encode("a", "b").sequence_ids
        first_of_b = owners.index(1) if 1 in owners else 0
        return None in owners[owners.index(0) : first_of_b] if 0 in owners else False
