"""Nodes of `generation`."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from take.corpus.budget import Budget
from take.encoder.embeddings import Embeddings
from take.encoder.encode import EmbeddingSettings, Encoder, embed_corpus
from take.errors import InputError
from take.generation.figures import classes_figure, generation_figure, pool_figure
from take.generation.finetuning.adapter import load_tuned, public_name
from take.generation.finetuning.canaries import (
    canary_markers,
    most_digits,
    plant,
    read_canaries,
    rows_by_role,
)
from take.generation.finetuning.fine_tuning_report import FineTuningReport
from take.generation.finetuning.fine_tuning_settings import FineTuningSettings
from take.generation.finetuning.training import fine_tune as train
from take.generation.finetuning.training import training_key
from take.generation.finetuning.updates import text_losses
from take.generation.language_models import LanguageModel
from take.generation.pool import LedgerReport, fill_pool, ledger_rows, pool_rows
from take.generation.quality.evidence import PoolEvidence, QualitySettings
from take.generation.quality.measure import measure_pool as measure
from take.generation.quality.report import PoolQuality
from take.generation.sampling.rows import LengthBounds, SamplingSettings, corpus_lengths
from take.generation.sampling.store import RowStore
from take.generation.sampling.writer import RowWriter, SamplingReport, row_key
from take.generation.screening.reasons import ScreeningSettings
from take.generation.screening.screen import Reference, Screen
from take.generation.template import Template
from take.rows.labelled import TEXT_COLUMNS, class_names, class_sizes, task_of, text_columns
from take.scoring.trajectory import ProbeTrajectory

_logger = logging.getLogger(__name__)


class TunedModel(NamedTuple):
    """The outputs of `fine_tune`."""

    adapter: Path
    generator_rows: pd.DataFrame
    """Every corpus row: id, role (trained, validation, unread, excluded), how often read."""
    canaries: pd.DataFrame
    """The secrets that were planted, how often each was read, and those that were not planted."""
    report: FineTuningReport


class GeneratedRows(NamedTuple):
    """The outputs of `sample_and_screen`."""

    samples: pd.DataFrame
    """Every row generated, with its verdict."""
    report: SamplingReport


class ScreenedPool(NamedTuple):
    """The outputs of `keep_pool`."""

    pool: pd.DataFrame
    pool_embeddings: Embeddings
    ledger: pd.DataFrame
    """Every row dropped, with its reason."""
    report: LedgerReport


class GenerationFigures(NamedTuple):
    """The outputs of `plot_generation`."""

    pool_plot: Any
    pool_classes_plot: Any
    generation_plot: Any


class PoolMeasures(NamedTuple):
    """The outputs of `measure_pool`."""

    quality: PoolQuality
    coverage: pd.DataFrame
    examples: pd.DataFrame


def fine_tune(
    corpus: pd.DataFrame,
    weights: pd.DataFrame,
    language_model: LanguageModel,
    settings: FineTuningSettings,
) -> TunedModel:
    """The language model after it has read the corpus, or a fair part of it."""
    template = _template(language_model, corpus, settings)
    planting = plant(corpus, template, settings, weights["weight"].to_numpy())
    rows = planting.rows
    work_folder = language_model.work_folder(training_key(language_model, rows, settings))
    tuned = train(language_model, template, rows, settings, work_folder)
    return TunedModel(
        tuned.folder,
        rows_by_role(corpus, planting, settings, tuned.report),
        read_canaries(planting, settings, tuned.report),
        tuned.report,
    )


def sample_and_screen(
    corpus: pd.DataFrame,
    evaluation_split: pd.DataFrame,
    embeddings: Embeddings,
    encoder: Encoder,
    trajectory: ProbeTrajectory,
    language_model: LanguageModel,
    adapter: Path,
    canaries: pd.DataFrame,
    fine_tuning: FineTuningSettings,
    sampling: SamplingSettings,
    screening: ScreeningSettings,
) -> GeneratedRows:
    """Rows of every class, generated and screened until each class has its share."""
    names, sizes = class_names(corpus), class_sizes(corpus)
    if sampling.rows < len(names):
        raise InputError(
            f"a pool of {sampling.rows} rows is too small for {len(names)} classes",
            where="generation.sampling.rows",
            remedy=f"ask for at least {len(names)} rows",
        )
    template = _template(language_model, corpus, fine_tuning)
    bounds = LengthBounds.of(corpus_lengths(corpus, template), sampling.length_quantiles)
    prompts = [template.prompt(label) for label in range(len(names))]
    key = row_key(language_model, adapter, prompts, bounds, sampling)
    writer = RowWriter(
        lambda: load_tuned(language_model, adapter),
        template,
        bounds,
        sampling,
        RowStore(language_model.work_folder(key)),
    )
    screen = Screen(
        Reference(
            corpus=corpus,
            evaluation_split=evaluation_split,
            embeddings=embeddings,
            encoder=encoder,
            probe_weights=trajectory.weights[-1],
            probe_biases=trajectory.biases[-1],
            min_tokens=bounds.shortest,
            max_tokens=bounds.longest,
            markers=(*template.markers, *canary_markers(canaries)),
            most_digits=None if canaries.empty else most_digits(_columns(corpus)),
        ),
        screening,
    )
    shares = Budget.parse(sampling.rows).split(sizes)
    samples = fill_pool(writer.read, screen.judge, shares, names, sampling.tries)
    rate = writer.tokens / writer.seconds if writer.seconds else 0.0
    report = SamplingReport(
        language_model=public_name(language_model),
        decoder=sampling.decoder,
        rows_generated=len(samples),
        rows_kept=int((samples["reason"] == "").sum()),
        shortest_tokens=bounds.shortest,
        longest_tokens=bounds.longest,
        mean_tokens=round(float(samples["tokens"].mean()), 2),
        tokens_written=writer.tokens,
        seconds=round(writer.seconds, 1),
        tokens_per_second=round(rate, 1),
    )
    _logger.info(
        "Generated %s rows, kept %s; %s tokens written at %.0f tokens/s.",
        f"{report.rows_generated:,}",
        f"{report.rows_kept:,}",
        f"{report.tokens_written:,}",
        rate,
    )
    return GeneratedRows(samples, report)


def keep_pool(
    samples: pd.DataFrame, corpus: pd.DataFrame, encoder: Encoder, settings: EmbeddingSettings
) -> ScreenedPool:
    """The rows that were kept, embedded; and the ledger of those that were not."""
    names = class_names(corpus)
    pool = pool_rows(samples, names, TEXT_COLUMNS[task_of(corpus)])
    ledger = LedgerReport.of(samples, names)
    if pool.empty:
        raise InputError(
            f"of {len(samples):,} generated rows not one was kept",
            remedy="look at `reason` in samples.parquet; train longer, or loosen "
            "generation.screening",
        )
    counts = sorted(ledger.totals.dropped.items(), key=lambda item: -item[1])
    _logger.info(
        "Pool of %s rows. Dropped: %s.",
        f"{len(pool):,}",
        ", ".join(f"{reason} {count:,}" for reason, count in counts if count) or "none",
    )
    embedded = embed_corpus(text_columns(pool), encoder, settings)
    return ScreenedPool(pool, embedded.embeddings, ledger_rows(samples, names), ledger)


def measure_pool(
    pool: pd.DataFrame,
    samples: pd.DataFrame,
    pool_embeddings: Embeddings,
    corpus: pd.DataFrame,
    embeddings: Embeddings,
    generator_rows: pd.DataFrame,
    trajectory: ProbeTrajectory,
    language_model: LanguageModel,
    settings: QualitySettings,
) -> PoolMeasures:
    """How good the pool is, against the corpus it stands for."""
    trained = generator_rows.loc[generator_rows["role"] == "trained", "id"]
    evidence = PoolEvidence(
        pool=pool,
        judged=samples,
        pool_embeddings=pool_embeddings,
        corpus=corpus,
        embeddings=embeddings,
        seen=corpus["id"].isin(set(trained)).to_numpy(),
        probe_weights=trajectory.weights[-1],
        probe_biases=trajectory.biases[-1],
    )
    model, tokenizer = language_model.load_model(), language_model.load_tokenizer()
    measured = measure(evidence, settings, lambda texts: text_losses(model, tokenizer, texts))
    _logger.info("Against equally many real rows: %s.", measured.report.summary())
    return PoolMeasures(*measured)


def plot_generation(
    quality: PoolQuality, ledger: LedgerReport, fine_tuning: FineTuningReport
) -> GenerationFigures:
    """The plots of the pool and of how it was made."""
    return GenerationFigures(
        pool_figure(quality), classes_figure(quality), generation_figure(ledger, fine_tuning)
    )


def _columns(corpus: pd.DataFrame) -> list[pd.Series]:
    return [corpus[column] for column in TEXT_COLUMNS[task_of(corpus)]]


def _template(
    language_model: LanguageModel, corpus: pd.DataFrame, settings: FineTuningSettings
) -> Template:
    return Template(
        language_model.load_tokenizer(),
        class_names(corpus),
        task_of(corpus),
        settings.max_text_tokens,
    )
