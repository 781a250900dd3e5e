"""From a corpus and settings to a `Job`: count, calibrate what the run needs, and nothing else."""

from __future__ import annotations

import gc
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from take.cost import resident_megabytes
from take.encoder.encode import Encoder
from take.estimate.calibrate import LanguageModelCalibration, measure_encoder, measure_pace
from take.estimate.counts import CorpusCounts, GenerationCounts, RunSettings
from take.estimate.generation import GenerationPlan, plan_generation
from take.estimate.job import Job
from take.estimate.rates import EncoderRates, Pace, Rates, TuningRates, WritingRates
from take.estimate.report import in_words
from take.generation.language_models import LanguageModel
from take.reuse.records import RECORD_SUFFIX

_ASKS = frozenset({"sample_and_screen", "measure_pool", "attack_generator"})
"""Nodes that have the language model write or read."""
_USES_LANGUAGE_MODEL = frozenset({"fine_tune", *_ASKS})


@dataclass(frozen=True)
class Given:
    """What a run starts from, and which of its nodes will run."""

    running: frozenset[str]
    settings: RunSettings
    corpus: pd.DataFrame
    evaluation_split: pd.DataFrame
    encoder: Encoder
    language_model: LanguageModel
    ingestion_seconds: float | None = None
    weights: NDArray[np.float64] | None = None
    """Of the corpus rows, where they are known."""
    adapter: Path | None = None
    """Where fine-tuning is reused."""
    trained_rows: int = 0
    """Of that fine-tuning."""
    anew: bool = False
    """Whether vectors, adapters and rows that earlier runs have left are to be looked away from."""


@dataclass(frozen=True)
class _LanguageModelRates:
    counts: GenerationCounts
    tuning: TuningRates | None = None
    writing: WritingRates | None = None


def calibrated(given: Given) -> tuple[Job, list[str]]:
    """The run as a job, with the rates of this machine; and notes for the user."""
    begun, base = time.perf_counter(), resident_megabytes()
    notes: list[str] = []
    counts = CorpusCounts.of(given.corpus, given.evaluation_split, given.encoder, anew=given.anew)
    encoder = _encoder_rates(given, counts)
    found = _language_model_rates(given, notes)
    gc.collect()
    rates = Rates(
        pace=measure_pace() if given.running else Pace(),
        base_megabytes=base,
        resting_megabytes=resident_megabytes(),
        encoder=encoder,
        tuning=found.tuning,
        writing=found.writing,
        seconds=time.perf_counter() - begun,
    )
    job = Job(
        settings=given.settings,
        counts=counts,
        rates=rates,
        generation=found.counts,
        ingestion_seconds=given.ingestion_seconds,
        encoder_is_loaded="embed_corpus" in given.running and counts.strings.missing > 0,
    )
    return job, notes


def _encoder_rates(given: Given, counts: CorpusCounts) -> EncoderRates | None:
    """Measured at the lengths of the strings to encode; of the evaluation split's if all are in."""
    encodes_corpus = "embed_corpus" in given.running and counts.strings.missing > 0
    if not encodes_corpus and "sample_and_screen" not in given.running:
        return None
    strings = counts.strings if counts.strings.missing else counts.evaluation_strings
    tokens = strings.tokens if len(strings.tokens) else np.array([16, 32], dtype=np.int64)
    return measure_encoder(given.encoder, tokens)


def _language_model_rates(given: Given, notes: list[str]) -> _LanguageModelRates:
    if not given.running & _USES_LANGUAGE_MODEL:
        return _LanguageModelRates(GenerationCounts(trained_rows=given.trained_rows))
    _convert(given.language_model, notes)
    settings = given.settings
    plan = plan_generation(
        given.corpus,
        given.language_model,
        settings.fine_tuning,
        settings.sampling,
        adapter=given.adapter,
        weights=given.weights,
        anew=given.anew,
    )
    return _measured(plan, given)


def _measured(plan: GenerationPlan, given: Given) -> _LanguageModelRates:
    counts, tuning, writing = plan.counts, None, None
    if plan.rows is None and not given.running & _ASKS:
        return _LanguageModelRates(counts)
    calibration = LanguageModelCalibration(given.language_model, plan.template)
    if plan.rows is not None and "fine_tune" in given.running:
        tuning, tokens = calibration.measure_tuning(plan.rows, given.settings.fine_tuning)
        counts = plan.with_updates(tokens)
    if given.running & _ASKS:
        writing = calibration.measure_writing(given.settings.sampling, counts.row_lengths)
    return _LanguageModelRates(counts, tuning, writing)


def _convert(language_model: LanguageModel, notes: list[str]) -> None:
    """Have the embedded model converted now: a run needs it, and so does the calibration."""
    if language_model.settings.model != "embedded":
        return
    folder = language_model.work_folder("").parent
    if any(folder.glob(f"embedded-*{RECORD_SUFFIX}")):
        return
    begun = time.perf_counter()
    _ = language_model.folder
    seconds = in_words(time.perf_counter() - begun)
    notes.append(f"The language model was converted for this ({seconds}); a run finds it there.")
