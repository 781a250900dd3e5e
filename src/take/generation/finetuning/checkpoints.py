"""Checkpoints and the end of a training: all that the next update depends on, to resume exactly.

One safetensors file each: weights, optimizer state, random state, best weights so far; the numbers
are JSON in the file's own metadata.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from take.generation.finetuning.fine_tuning_report import FineTuningReport, ValidationLoss
from take.reuse.records import damage, recorded
from take.reuse.store import KeyedStore

ADAPTER, _REPORT = "adapter", "report.json"
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
        self._store = KeyedStore(folder, "training resumes at an older checkpoint, or starts again")
        self._pattern = f"checkpoint-{key[:16]}-*.safetensors"

    def save(self, tensors: Tensors, progress: Progress) -> None:
        """Write a checkpoint whole or not at all, then drop those that are too old."""
        from safetensors.torch import save_file

        name = self._pattern.replace("*", f"{progress.update:09d}")
        with self._store.writing(name) as temporary:
            save_file(tensors, temporary, metadata={_STATE: progress.model_dump_json()})
        for old in self._store.files(self._pattern)[:-_KEPT]:
            self._store.remove(old.name)

    def newest(self) -> tuple[Tensors, Progress] | None:
        """The newest checkpoint that is whole."""
        from safetensors import safe_open

        for path in reversed(self._store.files(self._pattern)):
            if self._store.is_whole(path):
                with safe_open(path, framework="pt") as file:
                    progress = Progress.model_validate_json(file.metadata()[_STATE])
                    return {name: file.get_tensor(name) for name in file.keys()}, progress  # noqa: SIM118
        return None

    def clear(self) -> None:
        """Remove every checkpoint in the folder: older trainings', damaged and half-written ones.

        They may hold the secret of a private training.
        """
        for path in self._store.folder.glob("*checkpoint-*"):
            path.unlink()


def packed(parameters: Tensors, state: Any, best: Tensors) -> Tensors:
    """Weights, optimizer state by parameter, best weights so far and random state, as one table."""
    import torch

    tensors: Tensors = {"random": torch.get_rng_state()}
    for name, parameter in parameters.items():
        tensors[f"weights/{name}"] = parameter.detach()
        for part, tensor in state.get(parameter, {}).items():
            tensors[f"optimizer/{part}/{name}"] = tensor
    return tensors | {f"best/{name}": tensor for name, tensor in best.items()}


def unpack(tensors: Tensors, parameters: Tensors, state: Any) -> Tensors:
    """Put what `packed` returned back into its places; the best weights so far."""
    import torch

    # Copied into torch's own memory: tensors read from a file may be aligned differently, and
    # sums would then be added in another order.
    best: Tensors = {}
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(tensors[f"weights/{name}"])
    for key, tensor in tensors.items():
        kind, _, rest = key.partition("/")
        if kind == "optimizer":
            part, _, name = rest.partition("/")
            state[parameters[name]][part] = tensor.clone()
        elif kind == "best":
            best[rest] = tensor.clone()
    torch.set_rng_state(tensors["random"])
    return best


class _Finished(BaseModel):
    key: str
    report: FineTuningReport


def write_report(work_folder: Path, key: str, report: FineTuningReport) -> None:
    """Mark the training as finished; the adapter is in the folder by now."""
    with recorded(work_folder / _REPORT) as temporary:
        temporary.write_text(_Finished(key=key, report=report).model_dump_json(indent=1))


def finished_report(work_folder: Path, key: str) -> FineTuningReport | None:
    """The report of the finished training of this key, if it and its adapter are whole."""
    try:
        finished = _Finished.model_validate_json((work_folder / _REPORT).read_bytes())
    except (FileNotFoundError, ValidationError):
        return None
    if finished.key != key or any(damage(work_folder / part) for part in (_REPORT, ADAPTER)):
        return None
    return finished.report
