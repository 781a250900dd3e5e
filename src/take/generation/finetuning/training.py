"""Fine-tuning, from the rows to the adapter's folder; a killed run continues exactly.

By hand rather than `transformers.Trainer`: batches without padding and a head that reads only what
is learned make it faster (benchmarks/finetuning.py), and its state is safetensors and JSON, where
`Trainer` pickles.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ValidationError

from take.generation.finetuning.checkpoints import Checkpoints
from take.generation.finetuning.examples import TrainingRows
from take.generation.finetuning.fine_tuning_report import FineTuningReport
from take.generation.finetuning.fine_tuning_settings import FineTuningSettings
from take.generation.finetuning.loop import Training
from take.generation.language_models import LanguageModel
from take.generation.template import Template
from take.reuse.atomic import atomic_path, write_text_atomically
from take.reuse.digests import module_code, value_digest
from take.reuse.records import damage, write_record

_logger = logging.getLogger(__name__)

_ADAPTER, _REPORT = "adapter", "report.json"


class FineTuned(NamedTuple):
    """A folder for `adapter.load_tuned`, and the report."""

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
    """Fine-tune the model on the rows, from the checkpoint in the folder if there is one."""
    import torch

    if settings.privacy:
        from take.generation.finetuning.private import require_opacus

        require_opacus()
    key = training_key(language_model, rows, settings)
    if finished := _finished(work_folder, key):
        _logger.info("Fine-tuning was finished before: its adapter is reused.")
        Checkpoints(work_folder, key).clear()  # the run may have been killed before this
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
            "validation": rows.validation.token_ids,
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
        "Fine-tuned %s on %s tokens in %s updates (%.0f tokens/s, %.0f s in total).",
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
    losses = report.validation_loss
    if losses and min(loss.loss for loss in losses[1:]) >= losses[0].loss:
        _logger.warning(
            "The validation loss is no lower than before training. Fix: lower learning_rate, or "
            "raise token_budget."
        )
