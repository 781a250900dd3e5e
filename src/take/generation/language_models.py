"""The causal language model: where its weights come from, and what identifies them."""

from __future__ import annotations

import hashlib
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from take.errors import InputError
from take.frozen import Frozen
from take.generation.packaged_models import PACKAGED
from take.model_files import LOADING, converted_once, hub_folder, hush_transformers
from take.reuse.digests import file_digest

# No *.bin and no *.py: weights are safetensors, and code of a model is never run.
_HUB_FILES = ("*.json", "*.txt", "*.model", "*.jinja", "*.safetensors")


class LanguageModelSettings(Frozen):
    """`language_model` in globals.yml."""

    model: str = "embedded"
    """'embedded' (SmolLM2-135M-Instruct from its package), 'gemma' (Gemma-3-270M from those of
    take[gemma]), a local folder, or a hub id."""
    revision: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")] | None = None
    """The hub commit; required for a hub id."""


class LanguageModel:
    """The files of a decoder-only model, loaded when needed, and a folder for derived files."""

    def __init__(self, settings: LanguageModelSettings, cache_root: Path) -> None:
        self.settings = settings
        self._cache_root = cache_root
        self._packaged = PACKAGED.get(settings.model)

    def __reduce__(self) -> tuple[type[LanguageModel], tuple[LanguageModelSettings, Path]]:
        """Another process finds and digests the files itself."""
        return LanguageModel, (self.settings, self._cache_root)

    @property
    def title(self) -> str:
        """The name shown to users; it says if weights are 4-bit rather than the original ones."""
        if self._packaged:
            return self._packaged.title
        revision = self.settings.revision
        return f"{self.settings.model}@{revision[:8]}" if revision else self.settings.model

    @property
    def terms(self) -> str:
        """The terms of use to be shown with its name, if TAKE knows any."""
        return self._packaged.terms if self._packaged else ""

    @cached_property
    def folder(self) -> Path:
        """The local folder with safetensors weights and tokenizer."""
        model = self.settings.model
        if self._packaged:
            # Converted once, and again if altered.
            name, title = f"{model}-{self.identity[:16]}", f"the language model {model!r}"
            folder = converted_once(self._cache_root, name, title, self._packaged.convert)
        elif Path(model).is_dir():
            folder = Path(model)
        else:
            role, setting = "language model", "language_model"
            revision = self.settings.revision
            folder = hub_folder(model, revision, _HUB_FILES, role, setting, named=PACKAGED)
        if not (folder / "config.json").is_file() or not list(folder.glob("*.safetensors")):
            raise InputError(
                f"language model {model!r} has no config.json with safetensors weights",
                where=str(folder),
                remedy="save it with `save_pretrained`; pickled weights are never loaded",
            )
        return folder

    @cached_property
    def identity(self) -> str:
        """A digest of weights, configuration and tokenizer."""
        if self._packaged:
            return self._packaged.digest()
        files = [
            path
            for path in sorted(self.folder.iterdir())
            if path.suffix in {".json", ".txt", ".model", ".safetensors"}
        ]
        digests = "".join(f"{path.name}:{file_digest(path)}\n" for path in files)
        return hashlib.sha256(digests.encode()).hexdigest()

    def work_folder(self, key: str) -> Path:
        """Where a long computation with this model keeps its intermediate results."""
        return self._cache_root / "work" / key[:24]

    def load_tokenizer(self) -> Any:
        """The tokenizer."""
        from transformers import AutoTokenizer

        return AutoTokenizer.from_pretrained(self.folder, trust_remote_code=False)

    def load_model(self) -> Any:
        """The model in fp32, in evaluation mode."""
        return load_causal_model(self.folder)


def load_causal_model(folder: Path) -> Any:
    """The model in a folder: fp32, in evaluation mode, safetensors only, without its own code."""
    import torch
    from transformers import AutoModelForCausalLM

    hush_transformers()
    with LOADING:
        return AutoModelForCausalLM.from_pretrained(
            folder, dtype=torch.float32, trust_remote_code=False, use_safetensors=True
        ).eval()
