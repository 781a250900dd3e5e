"""A pretrained transformer: its files, its tokenizer, fresh copies of its weights.

Loaded once and shared by all cells; each fine-tuning starts from its own copy.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from take.encoder import e5
from take.encoder.models import EMBEDDED, EMBEDDED_E5, EncoderModel, EncoderSettings
from take.errors import InputError
from take.frozen import Frozen
from take.generation.language_models import LanguageModel, LanguageModelSettings
from take.learners.base import Remembered, Texts
from take.learners.training import Share, UpdateSettings
from take.model_files import LOADING, hub_folder, hush_transformers
from take.precision import Precision
from take.reuse.digests import file_digest

# No *.bin, no *.py: weights are safetensors, and a model's own code is never run.
_HUB_FILES = ("*.json", "*.txt", "*.safetensors")
_PAIR_JOINT = "\n"  # between the texts of a pair, for tokenizers without a separator


# Rates and numbers of updates were chosen on train rows (docs/decisions/0007-evaluation.md).
_AS_RECIPE: dict[str, dict[str, Any]] = {
    "lpft": {
        "head_dropout": 0.0,
        "training": UpdateSettings(learning_rate=2e-5, updates=100, batch_rows=8),
    },
    "contrastive": {
        "head_dropout": 0.0,  # its head is solved, so that no update sees the dropout
        "training": UpdateSettings(learning_rate=2e-5, updates=100, batch_rows=16),
    },
}


class TransformerSettings(Frozen):
    """A pretrained transformer, all of its weights fine-tuned; DiLM's protocol by default.

    >>> TransformerSettings(recipe="lpft").training.learning_rate
    2e-05
    """

    kind: Literal["transformer"] = "transformer"
    recipe: Literal["dilm", "lpft", "contrastive"] = "dilm"
    """dilm: from a random head, all weights at once. lpft: the head is solved on the states first,
    then all weights are trained at a low rate. contrastive: trained on pairs of rows, then the head
    is solved. It decides the defaults of `head_dropout` and `training`."""
    model: str = EMBEDDED
    """'embedded' (all-MiniLM-L6-v2), 'embedded_e5' (e5-small), 'embedded_lm' (SmolLM2-135M), a
    folder, or a hub id."""
    revision: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")] | None = None
    """The hub commit; required for a hub id."""
    max_tokens: Annotated[int, Field(ge=8, le=8192)] = 256
    head_dropout: Share = 0.1
    precision: Precision = "auto"
    """Of matrix products; weights and sums stay float32. 'auto': bfloat16 where it runs and is
    faster, else float32."""
    training: UpdateSettings = UpdateSettings(learning_rate=1e-4, warmup_share=0.5)

    @model_validator(mode="before")
    @classmethod
    def _as_the_recipe_says(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        return _AS_RECIPE.get(str(given.get("recipe")), {}) | given

    @model_validator(mode="after")
    def _pairs_in_a_batch(self) -> TransformerSettings:
        if self.recipe == "contrastive" and self.training.batch_rows < 2:
            raise ValueError("batch_rows is 1; recipe 'contrastive' takes pairs from batches")
        return self

    def independent_of(self, encoder: str) -> bool:
        """Whether it sees rows otherwise than a selector does: φ's own weights do not."""
        return self.model != encoder


@dataclass(frozen=True)
class Tokens:
    """Token ids of each row, and which text of a pair each token belongs to."""

    ids: list[list[int]]
    segments: list[list[int]]


class Pretrained:
    """A transformer as it was before any row was seen."""

    def __init__(
        self,
        settings: TransformerSettings,
        language_models: Path | None,
        prefix: str | None = None,
    ) -> None:
        self.settings, self._language_models = settings, language_models
        own = e5.PREFIX if settings.model == EMBEDDED_E5 else ""
        self.prefix = own if prefix is None else prefix
        """Stands before each text; None: as these weights were trained."""
        self.tokens = Remembered(self._tokenise)

    @cached_property
    def folder(self) -> Path:
        """Where the files are, fetched from the hub if need be."""
        model, revision = self.settings.model, self.settings.revision
        if model == EMBEDDED:
            return EncoderModel(EncoderSettings()).folder
        if model == EMBEDDED_E5:
            return EncoderModel(EncoderSettings(model=model), self._converted).folder
        if model == "embedded_lm":
            return self._embedded_lm.folder
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
        model, revision = self.settings.model, self.settings.revision
        if model == EMBEDDED:
            return "all-MiniLM-L6-v2 (a sentence encoder)"
        if model == "embedded_lm":
            return self._embedded_lm.title
        if model == EMBEDDED_E5:
            return e5.TITLE
        return f"{model}@{revision[:8]}" if revision else model

    @cached_property
    def _embedded_lm(self) -> LanguageModel:
        return LanguageModel(LanguageModelSettings(), self._converted)

    @property
    def _converted(self) -> Path:
        if self._language_models is None:
            raise InputError(
                "there is no folder for converted weights",
                where=f"learner {self.settings.model!r}",
                remedy="set learners.language_models to a folder",
            )
        return self._language_models

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
        """Whether a token sees only the tokens before it."""
        return any("CausalLM" in name for name in self.config.get("architectures") or [])

    @property
    def reads_segments(self) -> bool:
        """Whether it reads which text of a pair a token belongs to."""
        return int(self.config.get("type_vocab_size") or 0) >= 2

    @cached_property
    def _weights(self) -> Any:
        import torch
        from transformers import AutoModel

        hush_transformers()
        with LOADING:
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
        tokenizer.enable_truncation(self.settings.max_tokens)
        return tokenizer

    def _tokenise(self, texts: Texts) -> Tokens:
        columns = [[self.prefix + text for text in column] for column in texts.columns]
        rows: list[Any] = columns[0]
        if texts.is_pair:
            rows = list(zip(*columns, strict=True))
            if not self._parts_pairs:
                rows = [_PAIR_JOINT.join(pair) for pair in rows]
        encodings = self._tokenizer.encode_batch(rows)
        return Tokens(
            # A text of nothing but blanks may have no token at all in some vocabularies.
            [encoding.ids or [0] for encoding in encodings],
            [encoding.type_ids or [0] for encoding in encodings],
        )

    @cached_property
    def _parts_pairs(self) -> bool:
        """Whether the tokenizer puts a separator between two texts."""
        owners = self._tokenizer.encode("a", "b").sequence_ids
        first_of_b = owners.index(1) if 1 in owners else 0
        return None in owners[owners.index(0) : first_of_b] if 0 in owners else False


class Narrowed:
    """A transformer whose vocabulary is, while it is fine-tuned, the ids in use: same result.

    Half of a small transformer's weights are its vocabulary, of which a few rows of text use a few
    hundred words. A word that is not used has gradient 0, so that AdamW only decays its vector e,

        e ← e · Π_t (1 − η_t · decay),

    which is done once, at the end. Texts keep their ids: a lookup finds the new place of each.
    """

    def __init__(self, transformer: Any, ids_in_use: Iterable[int]) -> None:
        import torch

        inner = transformer.get_input_embeddings()
        used = torch.tensor(sorted(set(ids_in_use)))
        self._transformer, self._inner, self._used = transformer, inner, used
        self._full, self._padding = inner.weight.detach(), inner.padding_idx
        place = torch.full((len(self._full),), -1)  # an id that is not in use is an error
        place[used] = torch.arange(len(used))

        class InUse(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.inner = inner

            def forward(self, ids: torch.Tensor) -> torch.Tensor:
                vectors: torch.Tensor = self.inner(place[ids])
                return vectors

        inner.weight = torch.nn.Parameter(self._full[used].clone())
        # A vocabulary's own padding has no gradient; some models use that id for other things.
        moved = -1 if self._padding is None else int(place[self._padding])
        inner.padding_idx = None if moved < 0 else moved
        transformer.set_input_embeddings(InUse())

    def widen(self, kept_share: float) -> None:
        """Give the transformer its vocabulary back; `kept_share` is what decay left of a weight."""
        import torch

        with torch.no_grad():
            full = self._full * kept_share
            full[self._used] = self._inner.weight.detach()
        self._inner.weight = torch.nn.Parameter(full)
        self._inner.padding_idx = self._padding
        self._transformer.set_input_embeddings(self._inner)
