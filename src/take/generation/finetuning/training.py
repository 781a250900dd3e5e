"""Fine-tuning, from the rows to the adapter's folder; a killed run continues exactly.

By hand rather than `transformers.Trainer`: batches of similar length, a head of the corpus's tokens
that reads only what is learned, and bfloat16 products make it faster (benchmarks/finetuning.py),
and its state needs no pickle.
"""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import NamedTuple

from take.generation.finetuning.adapter import plain_model, public_name, save_tuned, trainable
from take.generation.finetuning.checkpoints import (
    ADAPTER,
    Checkpoints,
    Progress,
    Tensors,
    finished_report,
    packed,
    unpack,
    write_report,
)
from take.generation.finetuning.fine_tuning_report import (
    FineTuningReport,
    ValidationLoss,
    loss_curve,
)
from take.generation.finetuning.fine_tuning_settings import FineTuningSettings
from take.generation.finetuning.token_rows import TrainingRows
from take.generation.finetuning.updates import (
    PlainStepper,
    Stepper,
    check_loss,
    evaluation_points,
    mean_loss,
    rate_share,
)
from take.generation.language_models import LanguageModel
from take.generation.template import Template
from take.generation.vocabulary import WHOLE, Vocabulary
from take.precision import products
from take.reuse.digests import module_code, value_digest
from take.reuse.locks import file_lock
from take.reuse.records import recorded

_logger = logging.getLogger(__name__)

_WRITING_SHARE = 0.1  # of the time, at most, goes into checkpoints


class FineTuned(NamedTuple):
    """A folder for `adapter.load_tuned`, and the report."""

    folder: Path
    report: FineTuningReport


def fine_tune(
    language_model: LanguageModel,
    template: Template,
    rows: TrainingRows,
    settings: FineTuningSettings,
    work_folder: Path,
    vocabulary: Vocabulary = WHOLE,
) -> FineTuned:
    """Fine-tune the model on the rows, from the checkpoint in the folder if there is one."""
    import torch

    if settings.privacy:
        from take.generation.finetuning.private import require_opacus

        require_opacus()
    key = training_key(language_model, rows, settings, vocabulary)
    folder, checkpoints = work_folder / ADAPTER, Checkpoints(work_folder, key)
    # Two corpora with the same rows share a work folder.
    lock = file_lock(work_folder / ".lock", "the same fine-tuning")
    with lock, torch.random.fork_rng(devices=[]):
        if finished := finished_report(work_folder, key):
            _logger.info("Fine-tuning was finished before: its adapter is reused.")
            checkpoints.clear()  # the run may have been killed before this
            return FineTuned(folder, finished)
        torch.manual_seed(settings.seed)
        training = Training(language_model, template, rows, settings, checkpoints, vocabulary)
        training.run()
        report = training.report()
        _logger.info(report.summary())
        if report.did_harm:
            _logger.warning(
                "The validation loss is no lower than before training. Fix: lower learning_rate, "
                "or raise token_budget."
            )
        with recorded(folder) as temporary:
            training.save(temporary)
        write_report(work_folder, key, report)
        checkpoints.clear()
        return FineTuned(folder, report)


def training_key(
    language_model: LanguageModel,
    rows: TrainingRows,
    settings: FineTuningSettings,
    vocabulary: Vocabulary = WHOLE,
) -> str:
    """A digest of all that decides the weights, this code included."""
    return value_digest(
        {
            "model": language_model.identity,
            "settings": settings.model_dump(mode="json", exclude={"checkpoint_seconds"}),
            "precision": settings.used_precision,
            "vocabulary": None if vocabulary.ids is None else vocabulary.ids.tolist(),
            "train": rows.train.token_ids,
            "prompts": rows.train.prompt_lengths.tolist(),
            "given": None if rows.train.given is None else rows.train.given.tolist(),
            "validation": rows.validation.token_ids,
            "code": module_code(__name__),
        }
    )


class Training:
    """The state of one training and the loop over its updates."""

    def __init__(
        self,
        language_model: LanguageModel,
        template: Template,
        rows: TrainingRows,
        settings: FineTuningSettings,
        checkpoints: Checkpoints,
        vocabulary: Vocabulary = WHOLE,
    ) -> None:
        self._language_model, self._settings = language_model, settings
        self._checkpoints, self._counts = checkpoints, rows.counts
        self._train, self._validation = map(vocabulary.rows, (rows.train, rows.validation))
        (self._pad_id,) = vocabulary.compact([template.end_id])
        model = language_model.load_model()
        vocabulary.cut(model)
        self._tuned = trainable(model, settings)
        self._model = plain_model(self._tuned)
        named = self._tuned.named_parameters()
        self._parameters = {name: weights for name, weights in named if weights.requires_grad}
        self._vocabulary: int = self._model.get_output_embeddings().weight.shape[0]
        self._best: Tensors = {}
        found = checkpoints.newest()
        self.progress = found[1] if found else Progress()
        self._stepper = self._make_stepper()
        if found:
            self._restore(found[0])
        self._started = time.perf_counter() - self.progress.seconds
        self._saved_at, self._pause = time.perf_counter(), settings.checkpoint_seconds

    def _make_stepper(self) -> Stepper:
        arguments = (self._model, self._train, self._settings, self._pad_id)
        if self._settings.privacy is None:
            return PlainStepper(*arguments)
        from take.generation.finetuning.private import PrivateStepper, fresh_secret

        if self.progress.secret is None:
            self.progress.secret = fresh_secret(self._settings.privacy)
        return PrivateStepper(*arguments, self.progress.secret)

    def run(self) -> None:
        """All remaining updates, with evaluations and checkpoints in between."""
        from tqdm import tqdm

        settings, progress, updates = self._settings, self.progress, self._stepper.updates
        points = evaluation_points(updates, settings.evaluations if len(self._validation) else 0)
        bar = tqdm(
            total=self._stepper.tokens,
            initial=progress.tokens,
            desc="fine-tuning",
            unit="token",
            unit_scale=True,
            disable=None,
        )
        with bar:
            if points and not progress.evaluations:
                self._evaluate()
            while progress.update < updates and not progress.stopped_early:
                bar.update(self._update())
                bar.set_postfix_str(f"loss {progress.losses[-1]:.3f}" if progress.losses else "")
                if progress.update in points:
                    self._evaluate()
                self._checkpoint_if_due()
        # So that nothing is lost if the run is killed while the adapter is written.
        self._save_checkpoint()

    def _update(self) -> int:
        """One update; returns its number of tokens."""
        progress, started = self.progress, time.perf_counter()
        share = rate_share(progress.update, self._stepper.updates)
        for group in self._stepper.optimizer.param_groups:
            group["lr"] = self._settings.learning_rate * share
        stepped = self._stepper.step(progress.update)
        if stepped.loss is not None:
            first = progress.losses[0] if progress.losses else stepped.loss
            check_loss(stepped.loss, first, self._vocabulary, progress.update)
            progress.losses.append(stepped.loss)
        progress.update += 1
        progress.tokens += stepped.tokens
        progress.positions += stepped.positions
        progress.update_seconds += time.perf_counter() - started
        return stepped.tokens

    def _evaluate(self) -> None:
        """Measure the validation loss; keep the weights if it is the lowest so far."""
        progress = self.progress
        settings = self._settings
        with products(settings.used_precision):
            loss = mean_loss(self._model, self._validation, settings.batch_rows, self._pad_id)
        trained = [evaluation.loss for evaluation in progress.evaluations if evaluation.update]
        progress.evaluations.append(ValidationLoss(update=progress.update, loss=loss))
        train_loss = f", train loss {progress.losses[-1]:.4f}" if progress.losses else ""
        place = f"Update {progress.update:,} of {self._stepper.updates:,}"
        _logger.info("%s: validation loss %.4f per token%s.", place, loss, train_loss)
        if not progress.update:
            return
        check_loss(loss, progress.evaluations[0].loss, self._vocabulary, progress.update - 1)
        if not trained or loss < min(trained):
            progress.best_update, progress.stale = progress.update, 0
            self._best = {name: p.detach().clone() for name, p in self._parameters.items()}
            return
        progress.stale += 1
        if progress.stale >= settings.patience and progress.update < self._stepper.updates:
            progress.stopped_early = True
            best = f"{progress.best_update:,}"
            _logger.info("Stopped early: the validation loss has not fallen since update %s.", best)

    def _checkpoint_if_due(self) -> None:
        started = time.perf_counter()
        if started - self._saved_at < self._pause:
            return
        self._save_checkpoint()
        self._saved_at = time.perf_counter()
        seconds = self._saved_at - started
        self._pause = max(self._settings.checkpoint_seconds, seconds / _WRITING_SHARE)

    def _save_checkpoint(self) -> None:
        self.progress.seconds = time.perf_counter() - self._started
        tensors = packed(self._parameters, self._stepper.optimizer.state, self._best)
        self._checkpoints.save(tensors, self.progress)

    def _restore(self, tensors: Tensors) -> None:
        self._best = unpack(tensors, self._parameters, self._stepper.optimizer.state)
        self.progress.resumed += 1
        place = f"update {self.progress.update:,} of {self._stepper.updates:,}"
        _logger.info("Fine-tuning continues after %s.", place)

    def save(self, folder: Path) -> None:
        """Write the weights of the best evaluation, or the last ones if there was none."""
        import torch

        with torch.no_grad():
            for name, tensor in self._best.items():
                self._parameters[name].copy_(tensor)
        save_tuned(self._tuned, self._language_model, folder)

    def report(self) -> FineTuningReport:
        """The numbers of the whole training."""
        progress, settings = self.progress, self._settings
        return FineTuningReport(
            language_model=public_name(self._language_model),
            terms=self._language_model.terms,
            method=settings.method,
            precision=settings.used_precision,
            vocabulary=self._vocabulary,
            trainable_parameters=sum(p.numel() for p in self._parameters.values()),
            rows=self._counts,
            updates=progress.update,
            planned_updates=self._stepper.updates,
            stopped_early=progress.stopped_early,
            epochs=progress.tokens / self._counts.train_tokens,
            tokens=progress.tokens,
            padding_share=1 - progress.tokens / max(1, progress.positions),
            tokens_per_second=progress.tokens / max(1e-9, progress.update_seconds),
            seconds=progress.seconds,
            resumed=progress.resumed,
            train_loss=[] if settings.privacy else loss_curve(progress.losses),
            validation_loss=progress.evaluations,
            kept_update=progress.best_update or progress.update,
            privacy=self._stepper.spent(progress.update),
        )
