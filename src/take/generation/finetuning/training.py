"""Fine-tuning, from the first update to the folder on disk; killed at any time, it goes on exactly.

Our own loop rather than `transformers.Trainer`: batches without padding and a head that sees only
what is learned make it faster (benchmarks/finetuning.py), and its whole state fits safetensors and
JSON, where `Trainer` pickles.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ValidationError

from take.generation.finetuning.checkpoints import Checkpoints
from take.generation.finetuning.examples import TrainingRows
from take.generation.finetuning.loop import Training
from take.generation.finetuning.report import FineTuningReport
from take.generation.finetuning.settings import FineTuningSettings
from take.generation.language_models import LanguageModel
from take.generation.template import Template
from take.reuse.atomic import atomic_path, write_text_atomically
from take.reuse.digests import module_code, value_digest
from take.reuse.records import damage, write_record

_logger = logging.getLogger(__name__)

_ADAPTER, _REPORT = "adapter", "report.json"


class FineTuned(NamedTuple):
    """The outcome: a folder for `adapter.load_tuned`, and the numbers."""

    folder: Path
    report: FineTuningReport


class _Finished(BaseModel):
    key: str
    report: FineTuningReport


def fine_tune(
    language_model: LanguageModel,
    template: Template,
    rows: TrainingRows,
    settings: FineTuningSettings,
    work_folder: Path,
) -> FineTuned:
    """Fine-tune the model on the rows; what a killed call left in the folder is gone on with."""
    import torch

    if settings.privacy:
        from take.generation.finetuning.private import require_opacus

        require_opacus()
    key = training_key(language_model, rows, settings)
    if finished := _finished(work_folder, key):
        _logger.info("Fine-tuning was finished before: its adapter is used as it is.")
        Checkpoints(work_folder, key).clear()  # a kill may have come before it
        return FineTuned(work_folder / _ADAPTER, finished)
    checkpoints = Checkpoints(work_folder, key)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        training = Training(language_model, template, rows, settings, checkpoints)
        training.run()
        report = training.report()
        _log(report)
        folder = work_folder / _ADAPTER
        with atomic_path(folder) as temporary:
            training.save(temporary)
    write_record(folder)
    finished_text = _Finished(key=key, report=report).model_dump_json(indent=1)
    write_text_atomically(work_folder / _REPORT, finished_text)
    write_record(work_folder / _REPORT)
    checkpoints.clear()
    return FineTuned(folder, report)


def training_key(
    language_model: LanguageModel, rows: TrainingRows, settings: FineTuningSettings
) -> str:
    """A digest of all that decides the weights, this code included."""
    return value_digest(
        {
            "model": language_model.identity,
            "settings": settings.model_dump(mode="json", exclude={"checkpoint_seconds"}),
            "train": rows.train.token_ids,
            "prompts": rows.train.prompt_lengths.tolist(),
            "held_out": rows.held_out.token_ids,
            "code": module_code(__name__),
        }
    )


def _finished(work_folder: Path, key: str) -> FineTuningReport | None:
    try:
        finished = _Finished.model_validate_json((work_folder / _REPORT).read_bytes())
    except (FileNotFoundError, ValidationError):
        return None
    if finished.key != key or any(damage(work_folder / part) for part in (_REPORT, _ADAPTER)):
        return None
    return finished.report


def _log(report: FineTuningReport) -> None:
    _logger.info(
        "Fine-tuned %s on %s tokens in %s updates (%.0f tokens/s, %.0f s in all).",
        report.language_model,
        f"{report.tokens:,}",
        f"{report.updates:,}",
        report.tokens_per_second,
        report.seconds,
    )
    if report.privacy:
        _logger.info(
            "Spent ε = %.2f at δ = %.1e on the training rows.",
            report.privacy.epsilon,
            report.privacy.delta,
        )
    losses = report.held_out_loss
    if losses and min(loss.loss for loss in losses[1:]) >= losses[0].loss:
        _logger.warning(
            "Held-out loss is no lower than before training: lower learning_rate, or train longer."
        )
