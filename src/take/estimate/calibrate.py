"""Short measurements with the code that a run runs, on this machine as it is now.

All cores are used as a run uses them. Nothing is kept: strings are encoded past the cache, and the
adapter that a few updates make is thrown away.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from take.cost import costing
from take.encoder.backends import Batch
from take.encoder.encode import Encoder
from take.estimate.rates import Curve, EncoderRates, Pace, TuningRates, WritingRates
from take.generation.finetuning.examples import Rows, TrainingRows
from take.generation.finetuning.fine_tuning_settings import FineTuningSettings
from take.generation.finetuning.updates import Stepper
from take.generation.language_models import LanguageModel
from take.generation.sampling.decoders import Decoder
from take.generation.sampling.rows import SamplingSettings
from take.generation.template import Template
from take.rows.arrays import Int64

QUANTILES = (0.5, 0.1, 0.9, 0.3, 0.7)
"""Of the sizes that a run will meet: where it is measured, the most telling first."""
_ENCODED_TOKENS = 8192  # at each length
_UPDATE_SECONDS = 15.0  # no further update is begun after so long
_STEPS = 4  # of the decoder, at each number of rows
_ARITHMETIC_SECONDS, _INTERPRETER_SECONDS = 0.036, 0.0038  # of `measure_pace`, back then


def measure_pace() -> Pace:
    """How this machine compares with the one that the constants of `work.py` are from."""
    rng = np.random.default_rng(0)
    left, right = (rng.standard_normal(shape, np.float32) for shape in ((4096, 384), (384, 2048)))
    text = "it is what it is , and a machine reads one word of it after the other . " * 50

    def python() -> int:
        return sum(len(set(text[start:].lower().split())) for start in range(100))

    return Pace(
        arithmetic=_median_seconds(lambda: left @ right) / _ARITHMETIC_SECONDS,
        interpreter=_median_seconds(python) / _INTERPRETER_SECONDS,
    )


def measure_encoder(encoder: Encoder, tokens: Int64) -> EncoderRates:
    """The encoder's rate at the lengths, in tokens, that its strings have."""
    with costing() as cost:
        begun = time.perf_counter()
        backend = encoder.backend
        load_seconds = time.perf_counter() - begun
        measured: dict[float, float] = {}
        for length in _typical(tokens):
            ids = np.full((max(1, backend.batch_tokens // length), length), 2000, dtype=np.int64)
            batch = Batch(np.arange(len(ids)), ids)
            n_batches = max(1, _ENCODED_TOKENS // ids.size)
            _drain(backend.encode([Batch(batch.indices[:2], ids[:2])]))
            begun = time.perf_counter()
            _drain(backend.encode([batch] * n_batches))
            seconds = time.perf_counter() - begun
            measured[length] = seconds / (n_batches * len(ids))
    return EncoderRates(load_seconds, Curve.of(measured), cost.peak_megabytes)


class LanguageModelCalibration:
    """The language model, loaded once, tuned a little, then turned into a decoder."""

    def __init__(self, language_model: LanguageModel, template: Template) -> None:
        self._template = template
        begun = time.perf_counter()
        self._model = language_model.load_model()
        self._tokenizer = language_model.load_tokenizer()
        self._load_seconds = time.perf_counter() - begun

    def measure_tuning(
        self, rows: TrainingRows, settings: FineTuningSettings
    ) -> tuple[TuningRates, Int64]:
        """The rates of fine-tuning, and the tokens of each update that is planned."""
        import torch

        from take.generation.finetuning.adapter import plain_model, trainable

        with torch.random.fork_rng(devices=[]), costing() as cost:
            torch.manual_seed(settings.seed)
            tuned = trainable(self._model, settings)
            model = plain_model(tuned)
            stepper = _stepper(model, rows.train, settings, self._template.end_id)
            sizes = _update_tokens(rows.train, settings, stepper)
            curve = _update_curve(stepper, sizes)
            trained = [p for p in model.parameters() if p.requires_grad]
            trained_bytes = sum(p.numel() * p.element_size() for p in trained)
            per_token = 0.0
            if rows.validation:
                per_token = _evaluation_rate(
                    model, rows.validation, settings, self._template.end_id
                )
        if settings.method == "lora":
            self._model = tuned.merge_and_unload()
        rates = TuningRates(
            self._load_seconds, curve, per_token, trained_bytes, cost.peak_megabytes
        )
        return rates, sizes

    def measure_writing(self, settings: SamplingSettings, row_lengths: Int64) -> WritingRates:
        """The rates of sampling, and of reading texts with the same model."""
        from take.generation.sampling.decoders import load_decoder

        with costing() as cost:
            model = self._model.eval().requires_grad_(False)
            begun = time.perf_counter()
            decoder = load_decoder(settings.decoder, model)
            load_seconds = self._load_seconds + time.perf_counter() - begun
            # Rows in the middle of being written: attention looks back as far as it usually does.
            half = max(1, int(np.median(row_lengths)) // 2)
            steps = _step_curve(decoder, self._template, settings, half)
        with costing() as reading:
            per_token = _loss_rate(model, self._tokenizer, int(np.median(row_lengths)))
        return WritingRates(
            self._load_seconds,
            load_seconds,
            steps,
            per_token,
            cost.peak_megabytes,
            reading.peak_megabytes,
        )


def _stepper(model: Any, rows: Rows, settings: FineTuningSettings, pad_id: int) -> Stepper:
    from take.generation.finetuning.updates import PlainStepper

    if settings.privacy is None:
        return PlainStepper(model, rows, settings, pad_id)
    from take.generation.finetuning.private import PrivateStepper

    return PrivateStepper(model, rows, settings, pad_id, secret=0)  # of nothing that is kept


def _update_tokens(rows: Rows, settings: FineTuningSettings, stepper: Stepper) -> Int64:
    """Tokens of each update; under privacy an update draws its rows anew, so only the mean."""
    from take.generation.finetuning.updates import plan_updates

    if settings.privacy is not None:
        return np.full(stepper.updates, max(1, stepper.tokens // stepper.updates), dtype=np.int64)
    plan = plan_updates(rows.lengths, settings)
    tokens = [sum(int(rows.lengths[batch].sum()) for batch in update) for update in plan]
    return np.array(tokens, dtype=np.int64)


def _update_curve(stepper: Stepper, sizes: Int64) -> Curve:
    order = np.argsort(sizes, kind="stable")
    for group in stepper.optimizer.param_groups:
        group["lr"] = 0.0  # for their time alone
    stepper.step(int(order[-1]))  # the first one is slow; the largest takes the most memory
    measured: dict[float, float] = {}
    begun = time.perf_counter()
    for quantile in QUANTILES:
        update = int(order[int(quantile * (len(order) - 1))])
        started = time.perf_counter()
        stepped = stepper.step(update)
        ended = time.perf_counter()
        measured[max(1, stepped.tokens)] = ended - started
        if ended - begun > _UPDATE_SECONDS:
            break
    return Curve.of(measured)


def _evaluation_rate(model: Any, rows: Rows, settings: FineTuningSettings, pad_id: int) -> float:
    """Seconds per token of validation loss, on a few of the batches it is measured in."""
    from take.generation.finetuning.updates import mean_loss

    order = np.argsort(rows.lengths, kind="stable")
    n_batches = max(1, len(order) // settings.batch_rows)
    chosen = sorted({int(quantile * n_batches) for quantile in (0.1, 0.5, 0.9)})
    places = np.concatenate(
        [order[i * settings.batch_rows : (i + 1) * settings.batch_rows] for i in chosen]
    )
    part = Rows(
        tuple(rows.token_ids[place] for place in places),
        rows.prompt_lengths[places],
        rows.positions[places],
    )
    begun = time.perf_counter()
    mean_loss(model, part, settings.batch_rows, pad_id)
    return (time.perf_counter() - begun) / int(part.lengths.sum())


def _step_curve(
    decoder: Decoder, template: Template, settings: SamplingSettings, written: int
) -> Curve:
    """Seconds of one token on each row, by how many rows are still being written."""
    from take.generation.sampling.rows import choose_tokens

    prompt = template.prompt(0)
    logits = decoder.begin([*prompt, *([prompt[-1]] * written)])
    so_far = np.full((1, written), prompt[-1], dtype=np.int64)
    parents: Int64 = np.zeros(1, dtype=np.int64)
    measured: dict[float, float] = {}
    for n_rows in sorted({settings.batch_rows, settings.batch_rows // 4 // 8 * 8 or 8, 8})[::-1]:
        parents = np.resize(parents, n_rows)
        logits = np.resize(logits, (n_rows, logits.shape[1]))
        history, chance = np.repeat(so_far, n_rows, axis=0), np.full(n_rows, 0.5)
        seconds = []
        for _ in range(_STEPS):
            begun = time.perf_counter()
            tokens = choose_tokens(logits, history, chance, settings)
            logits = decoder.step(tokens, parents)
            seconds.append(time.perf_counter() - begun)
            parents = np.arange(n_rows)
        measured[n_rows] = float(np.median(seconds[1:]))
    return Curve.of(measured)


def _loss_rate(model: Any, tokenizer: Any, length: int) -> float:
    """Seconds per token of a text's likelihood."""
    from take.generation.finetuning.updates import text_losses

    text = tokenizer.decode(tokenizer("it is what it is and so on " * length)["input_ids"][:length])
    texts = [text] * 8
    tokens = 8 * (1 + len(tokenizer(text, add_special_tokens=False)["input_ids"]))
    text_losses(model, tokenizer, texts[:1])
    begun = time.perf_counter()
    text_losses(model, tokenizer, texts)
    return (time.perf_counter() - begun) / tokens


def _typical(sizes: Int64) -> list[int]:
    """The sizes at the quantiles, each once."""
    found = np.quantile(sizes, QUANTILES, method="inverted_cdf")
    return sorted({max(1, int(size)) for size in found})


def _drain(results: Iterable[object]) -> None:
    for _ in results:
        pass


def _median_seconds(work: Callable[[], object], repeats: int = 5) -> float:
    work()
    seconds = []
    for _ in range(repeats):
        begun = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - begun)
    return float(np.median(seconds))
