"""Checkpoints of a training: everything the next update depends on, so that it goes on exactly.

One safetensors file each: weights, optimizer state, random state, best weights so far; the numbers
stand as JSON in the file's own metadata. A record beside it tells a damaged one.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from take.generation.finetuning.fine_tuning_report import ValidationLoss
from take.reuse.atomic import atomic_path
from take.reuse.records import damage, record_path, set_aside, write_record

_logger = logging.getLogger(__name__)

_KEPT = 2  # the newest, and the one before it in case the newest is damaged
_STATE = "state"
Tensors = dict[str, Any]


class Progress(BaseModel):
    """How far a training is, in numbers."""

    update: int = 0
    tokens: int = 0
    positions: int = 0
    """Tokens and padding."""
    update_seconds: float = 0.0
    seconds: float = 0.0
    resumed: int = 0
    losses: list[float] = Field(default_factory=list)
    evaluations: list[ValidationLoss] = Field(default_factory=list)
    best_update: int | None = None
    stale: int = 0
    """Evaluations since the best."""
    stopped_early: bool = False
    secret: int | None = None
    """What noise and sampling of a private training come from; gone with the last checkpoint."""


class Checkpoints:
    """The newest checkpoints of one training in a folder that others may use, too."""

    def __init__(self, folder: Path, key: str) -> None:
        self._folder = folder
        self._pattern = f"checkpoint-{key[:16]}-*.safetensors"

    def save(self, tensors: Tensors, progress: Progress) -> None:
        """Write a checkpoint whole or not at all, then drop those that are too old."""
        from safetensors.torch import save_file

        path = self._folder / self._pattern.replace("*", f"{progress.update:09d}")
        with atomic_path(path) as temporary:
            save_file(tensors, temporary, metadata={_STATE: progress.model_dump_json()})
        write_record(path)
        for old in self._paths()[_KEPT:]:
            record_path(old).unlink(missing_ok=True)
            old.unlink()

    def newest(self) -> tuple[Tensors, Progress] | None:
        """The newest checkpoint that is whole; damaged ones are named and put aside."""
        from safetensors import safe_open

        for path in self._paths():
            if not record_path(path).exists():
                continue  # killed before its record was written: the one before it serves
            if problem := damage(path):
                _logger.warning(
                    "%s; put aside as %s, training goes on from an older checkpoint or anew.",
                    problem,
                    set_aside(path).name,
                )
                continue
            with safe_open(path, framework="pt") as file:
                progress = Progress.model_validate_json(file.metadata()[_STATE])
                return {name: file.get_tensor(name) for name in file.keys()}, progress  # noqa: SIM118
        return None

    def clear(self) -> None:
        """Remove every checkpoint in the folder: older trainings', damaged and half-written ones.

        They may hold the secret of a private training.
        """
        for path in self._folder.glob("*checkpoint-*"):
            path.unlink()

    def _paths(self) -> list[Path]:
        return sorted(self._folder.glob(self._pattern), reverse=True)
