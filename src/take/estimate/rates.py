"""The speed of this machine: encoder, fine-tuning, decoder and plain code, each timed for seconds.

The run's own code is timed with all cores, as a run uses them. Nothing is kept: strings bypass the
encoder's cache, and updates have a learning rate of zero.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from take.cost import costing
from take.encoder.backends import Batch
from take.encoder.encode import Encoder
from take.generation.finetuning.canaries import canary_rows, plant
from take.generation.finetuning.fine_tuning_settings import FineTuningSettings
from take.generation.finetuning.token_rows import TrainingRows
from take.generation.finetuning.training import training_key
from take.generation.language_models import LanguageModel
from take.generation.sampling.rows import LengthBounds, SamplingSettings, corpus_lengths
from take.generation.sampling.writer import row_key
from take.generation.template import Template, plain_ids
from take.generation.vocabulary import Vocabulary, vocabulary_of
from take.reuse.records import record_path
from take.rows.arrays import Int64

Result = TypeVar("Result")

_QUANTILES = (0.1, 0.3, 0.5, 0.7, 0.9)  # of the string lengths at which the encoder is timed
_ENCODED_TOKENS = 8192  # at each length
_UPDATES, _UPDATE_SECONDS = 6, 15.0  # updates that are timed, and when to stop early
_STEPS = 4  # of the decoder, at each number of rows
_READ_TEXTS = 8


@dataclass
class Rates:
    """Seconds and megabytes on this machine; zero for what the run does not need."""

    pace: float = 1.0  # seconds here for a second on the machine of the table in `costs`
    encoder_load: float = 0.0
    string: float = 0.0  # to encode one string
    model_load: float = 0.0
    trained_token: float = 0.0
    trained_tokens: int = 0  # of all planned updates
    trained_bytes: int = 0
    read_token: float = 0.0  # of a loss: evaluations, perplexity, the audit's attack
    decoder_load: float = 0.0
    decoder_step: float = 0.0  # per step of a batch, in addition to a token for each row in it
    written_token: float = 0.0
    # Most megabytes of the process: base, encoder, training, decoder, reading, resting.
    peaks: dict[str, float] = field(default_factory=dict)

    def measure_machine(self) -> None:
        """Compare this machine with the table's, by a matrix product and a Python loop."""
        random = np.random.default_rng(0)
        left = random.standard_normal((4096, 384), np.float32)
        right = random.standard_normal((384, 2048), np.float32)
        text = "it is what it is , and a machine reads one word of it after the other . " * 50
        works: dict[float, Callable[[], object]] = {  # by their seconds on the table's machine
            0.036: lambda: left @ right,
            0.0038: lambda: [len(set(text[start:].lower().split())) for start in range(100)],
        }
        repeats = {there: [_timed(work)[0] for _ in range(6)] for there, work in works.items()}
        self.pace = float(np.mean([np.median(s[1:]) / there for there, s in repeats.items()]))

    def measure_encoder(self, encoder: Encoder, tokens: Int64) -> None:
        """Time full batches of strings at the typical lengths, in tokens, of the given ones."""
        with costing() as cost:
            self.encoder_load, backend = _timed(lambda: encoder.backend)
            seconds = []
            for length in np.quantile(tokens, _QUANTILES, method="inverted_cdf"):
                shape = (max(1, backend.batch_tokens // int(length)), int(length))
                batch = Batch(np.arange(shape[0]), np.full(shape, 2000, dtype=np.int64))
                repeats = max(1, _ENCODED_TOKENS // batch.token_ids.size)
                deque(backend.encode([Batch(batch.indices[:2], batch.token_ids[:2])]), maxlen=0)
                taken, _ = _timed(lambda: deque(backend.encode([batch] * repeats), maxlen=0))  # noqa: B023
                seconds.append(taken / (repeats * shape[0]))
        self.string, self.peaks["encoder"] = float(np.mean(seconds)), cost.peak_megabytes

    def measure_language_model(self, plan: GenerationPlan, *, trains: bool, writes: bool) -> None:
        """Time updates of the planned fine-tuning, then reading and writing with the same model."""
        self.model_load, model = _timed(plan.language_model.load_model)
        if trains and plan.rows is not None:
            with costing() as cost:
                self._measure_training(model, plan.rows, plan)
            self.peaks["training"] = cost.peak_megabytes
            model = plan.language_model.load_model()  # the other one was cut and trained
        model = model.eval().requires_grad_(False)
        with costing() as cost:
            self._measure_reading(model, plan)
        self.peaks["reading"] = cost.peak_megabytes
        if writes:
            plan.vocabulary.cut(model)
            with costing() as cost:
                self._measure_writing(model, plan)
            self.peaks["decoder"] = cost.peak_megabytes

    def _measure_training(self, model: Any, rows: TrainingRows, plan: GenerationPlan) -> None:
        import torch

        from take.generation.finetuning.adapter import plain_model, trainable
        from take.generation.finetuning.updates import PlainStepper, Stepper

        settings = plan.fine_tuning
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(settings.seed)
            plan.vocabulary.cut(model)
            inner = plain_model(trainable(model, settings))
            (pad_id,) = plan.vocabulary.compact([plan.template.end_id])
            stepper: Stepper
            if settings.privacy is None:
                train = plan.vocabulary.rows(rows.train)
                stepper = PlainStepper(inner, train, settings, pad_id)
            else:
                from take.generation.finetuning.private import PrivateStepper

                stepper = PrivateStepper(inner, rows.train, settings, pad_id, secret=0)
            for group in stepper.optimizer.param_groups:
                group["lr"] = 0.0
            stepper.step(0)  # the first one is slow
            seconds, tokens = 0.0, 0
            for update in np.linspace(0, stepper.updates - 1, _UPDATES).astype(int):
                taken, stepped = _timed(lambda: stepper.step(int(update)))  # noqa: B023
                seconds, tokens = seconds + taken, tokens + stepped.tokens
                if seconds > _UPDATE_SECONDS:
                    break
        self.trained_token, self.trained_tokens = seconds / max(1, tokens), stepper.tokens
        trained = [p for p in inner.parameters() if p.requires_grad]
        self.trained_bytes = sum(p.numel() * p.element_size() for p in trained)

    def _measure_reading(self, model: Any, plan: GenerationPlan) -> None:
        from take.generation.finetuning.updates import text_losses

        tokenizer, length = plan.language_model.load_tokenizer(), int(np.median(plan.lengths))
        ids = plain_ids(tokenizer, "it is what it is and so on " * length)[:length]
        texts = [tokenizer.decode(ids)] * _READ_TEXTS
        text_losses(model, tokenizer, texts[:1])
        seconds = [_timed(lambda: text_losses(model, tokenizer, texts))[0] for _ in range(3)]
        self.read_token = float(np.median(seconds)) / (_READ_TEXTS * (length + 1))

    def _measure_writing(self, model: Any, plan: GenerationPlan) -> None:
        """A step takes `decoder_step` and `written_token` for each row: timed at 8 and all rows."""
        from take.generation.sampling.decoders import load_decoder
        from take.generation.sampling.rows import choose_tokens

        settings, prompt = plan.sampling, plan.vocabulary.compact(plan.template.prompt(0))
        self.decoder_load, decoder = _timed(lambda: load_decoder(settings.decoder, model))
        written = max(1, int(np.median(plan.lengths)) // 2)  # rows in the middle of being written
        logits = decoder.begin([*prompt, *([prompt[-1]] * written)])
        parents: Int64 = np.zeros(1, dtype=np.int64)
        medians: dict[int, float] = {}
        for n_rows in (max(16, settings.batch_rows), 8):
            parents = np.resize(parents, n_rows)
            logits = np.resize(logits, (n_rows, logits.shape[1]))
            history = np.full((n_rows, written), prompt[-1], dtype=np.int64)
            seconds = []
            for _ in range(_STEPS):
                begun = time.perf_counter()
                tokens = choose_tokens(logits, history, np.full(n_rows, 0.5), settings)
                logits = decoder.step(tokens, parents)
                seconds.append(time.perf_counter() - begun)
                parents = np.arange(n_rows)
            medians[n_rows] = float(np.median(seconds[1:]))
        many, few = medians
        self.written_token = max(0.0, medians[many] - medians[few]) / (many - few)
        self.decoder_step = max(0.0, medians[few] - few * self.written_token)


@dataclass(frozen=True)
class GenerationPlan:
    """What the language model would read and write, less what earlier runs have left."""

    language_model: LanguageModel
    fine_tuning: FineTuningSettings
    sampling: SamplingSettings
    template: Template
    vocabulary: Vocabulary
    lengths: Int64  # tokens of a sample of corpus rows
    longest: int  # most tokens of a generated row
    rows: TrainingRows | None  # None where fine-tuning is reused or was finished before
    rows_on_disk: int  # generated rows that an earlier run has written

    @classmethod
    def of(
        cls,
        corpus: pd.DataFrame,
        language_model: LanguageModel,
        fine_tuning: FineTuningSettings,
        sampling: SamplingSettings,
        *,
        adapter: Path | None = None,
        from_scratch: bool = False,
    ) -> GenerationPlan:
        """Plan as a run would; `adapter` is the one that the run reuses, if it does.

        Rows that a run draws by their weights are drawn evenly here: they cost the same.
        """
        template = Template.of(language_model, corpus, fine_tuning.max_text_tokens)
        lengths = corpus_lengths(corpus, template)
        bounds = LengthBounds.of(lengths, sampling.length_quantiles)
        if fine_tuning.row_sampling == "knowledge":
            fine_tuning = fine_tuning.model_copy(update={"row_sampling": "balanced"})
        planting = plant(corpus, template, fine_tuning)
        rows = planting.rows
        vocabulary = vocabulary_of(corpus, template, fine_tuning, [rows.train, rows.validation])
        if adapter is None and not from_scratch:
            key = training_key(language_model, rows, fine_tuning, vocabulary)
            folder = language_model.work_folder(key)
            if (folder / "report.json").exists():  # written when all is done
                adapter = folder / "adapter"
        on_disk = 0
        if adapter is not None:
            secrets = canary_rows(planting.canaries, template)
            sampled = vocabulary_of(corpus, template, fine_tuning, [secrets])
            key = row_key(language_model, adapter, template.prompts, bounds, sampling, sampled)
            on_disk = rows_on_disk(language_model.work_folder(key))
        return cls(
            language_model=language_model,
            fine_tuning=fine_tuning,
            sampling=sampling,
            template=template,
            vocabulary=vocabulary,
            lengths=np.array(lengths, dtype=np.int64) + len(template.between(0)),
            longest=bounds.longest,
            rows=rows if adapter is None else None,
            rows_on_disk=on_disk,
        )


def rows_on_disk(folder: Path) -> int:
    """Generated rows in `class-<label>-rows-<first>-<after>.parquet` files that were completed."""
    files = [path for path in folder.glob("class-*-rows-*.parquet") if record_path(path).exists()]
    return sum(int(path.stem.split("-")[4]) - int(path.stem.split("-")[3]) for path in files)


def _timed(work: Callable[[], Result]) -> tuple[float, Result]:
    begun = time.perf_counter()
    result = work()
    return time.perf_counter() - begun, result
