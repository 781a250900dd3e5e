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
from take.generation.finetuning.canaries import (
    canary_markers,
    canary_rows,
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
from take.generation.pool import LedgerReport, all_rows, fill_pool, ledger_rows, pool_rows
from take.generation.quality.evidence import PoolEvidence, QualitySettings
from take.generation.quality.measure import PoolMeasured
from take.generation.quality.measure import measure_pool as measure
from take.generation.quality.report import PoolQuality
from take.generation.sampling.rows import LengthBounds, SamplingSettings, corpus_lengths
from take.generation.sampling.writer import RowWriter, SamplingReport
from take.generation.screening.reasons import ScreeningSettings
from take.generation.screening.screen import Reference, Screen
from take.generation.template import Template
from take.generation.verifier.training import TrainedVerifier
from take.generation.verifier.training import train_verifier as train_and_choose
from take.generation.verifier.verifier import load_verifier
from take.generation.verifier.verifier_settings import VerifierReport, VerifierSettings
from take.generation.vocabulary import vocabulary_of
from take.rows.labelled import TEXT_COLUMNS, class_names, class_sizes, task_of, text_columns
from take.rows.strings import is_among
from take.text.copies import CopySettings

_logger = logging.getLogger(__name__)


class TunedModel(NamedTuple):
    """The outputs of `fine_tune`."""

    adapter: Path
    generator_rows: pd.DataFrame
    """Every corpus row: id, role (`rows_by_role`), how often it was read."""
    canaries: pd.DataFrame
    """Planted secrets with how often each was read, and secrets that were not planted."""
    report: FineTuningReport


class ScreenedRows(NamedTuple):
    """The outputs of `sample_and_screen`: each generated row is in the pool or in the ledger."""

    pool: pd.DataFrame
    ledger: pd.DataFrame
    """The dropped rows, with the reason of each."""
    ledger_report: LedgerReport
    sampling_report: SamplingReport


class GenerationFigures(NamedTuple):
    """The outputs of `plot_generation`."""

    pool_plot: Any
    pool_classes_plot: Any
    generation_plot: Any


def fine_tune(
    corpus: pd.DataFrame,
    weights: pd.DataFrame,
    language_model: LanguageModel,
    settings: FineTuningSettings,
    copies: CopySettings,
) -> TunedModel:
    """Fine-tune the language model on the corpus, or on as much as the token budget allows."""
    template = Template.of(language_model, corpus, settings.max_text_tokens)
    template.check_markers(corpus)
    planting = plant(corpus, template, settings, weights["weight"].to_numpy(), copies)
    rows = planting.rows
    vocabulary = vocabulary_of(corpus, template, settings, [rows.train, rows.validation])
    key = training_key(language_model, rows, settings, vocabulary)
    work_folder = language_model.work_folder(key)
    tuned = train(language_model, template, rows, settings, work_folder, vocabulary)
    return TunedModel(
        tuned.folder,
        rows_by_role(corpus, planting, settings, tuned.report),
        read_canaries(planting, settings, tuned.report),
        tuned.report,
    )


def train_verifier(
    corpus: pd.DataFrame, embeddings: Embeddings, settings: VerifierSettings, copies: CopySettings
) -> TrainedVerifier:
    """Train what judges the labels of generated rows, and measure it on held-out train rows."""
    return train_and_choose(corpus, embeddings, settings, copies)


def sample_and_screen(
    corpus: pd.DataFrame,
    evaluation_split: pd.DataFrame,
    embeddings: Embeddings,
    encoder: Encoder,
    verifier: Path,
    language_model: LanguageModel,
    adapter: Path,
    canaries: pd.DataFrame,
    fine_tuning: FineTuningSettings,
    sampling: SamplingSettings,
    screening: ScreeningSettings,
    copies: CopySettings,
) -> ScreenedRows:
    """Generate and screen rows of every class until each has its share."""
    names, columns = class_names(corpus), TEXT_COLUMNS[task_of(corpus)]
    if sampling.rows < len(names):
        raise InputError(
            f"a pool of {sampling.rows} rows is too small for {len(names)} classes",
            where="generation.sampling.rows",
            remedy=f"set it to {len(names)} or more",
        )
    template = Template.of(language_model, corpus, fine_tuning.max_text_tokens)
    bounds = LengthBounds.of(corpus_lengths(corpus, template), sampling.length_quantiles)
    # With the canaries' tokens: otherwise no secret could be generated, memorised or not.
    secrets = canary_rows(canaries, template)
    vocabulary = vocabulary_of(corpus, template, fine_tuning, [secrets])
    writer = RowWriter.of(language_model, adapter, template, bounds, sampling, vocabulary)
    reference = Reference(
        corpus=corpus,
        evaluation_split=evaluation_split,
        embeddings=embeddings,
        encoder=encoder,
        verifier=load_verifier(verifier),
        min_tokens=bounds.shortest,
        max_tokens=bounds.longest,
        markers=(*template.markers, *canary_markers(canaries)),
        most_digits=None if canaries.empty else most_digits(text_columns(corpus)),
    )
    shares = Budget.parse(sampling.rows).split(class_sizes(corpus))
    screen = Screen(reference, screening, copies)
    judged = fill_pool(writer.read_all, screen.judge, shares, names, sampling.tries)
    report = LedgerReport.of(judged, names)
    _logger.info(report.summary())
    return ScreenedRows(
        pool_rows(judged, names, columns),
        ledger_rows(judged, names),
        report,
        writer.report(language_model, judged),
    )


def embed_pool(pool: pd.DataFrame, encoder: Encoder, settings: EmbeddingSettings) -> Embeddings:
    """φ of the pool."""
    if pool.empty:
        raise InputError(
            "not one generated row was kept",
            where="pool.parquet",
            remedy="look at `reason` in ledger.parquet; train longer, or loosen "
            "generation.screening",
        )
    return embed_corpus(text_columns(pool), encoder, settings).embeddings


def measure_pool(
    pool: pd.DataFrame,
    ledger: pd.DataFrame,
    pool_embeddings: Embeddings,
    corpus: pd.DataFrame,
    embeddings: Embeddings,
    generator_rows: pd.DataFrame,
    verifier_report: VerifierReport,
    language_model: LanguageModel,
    settings: QualitySettings,
) -> PoolMeasured:
    """Measure the pool against the corpus."""
    trained = generator_rows.loc[generator_rows["role"] == "trained", "id"]
    evidence = PoolEvidence(
        pool=pool,
        judged=all_rows(pool, ledger),
        pool_embeddings=pool_embeddings,
        corpus=corpus,
        embeddings=embeddings,
        seen=is_among(corpus["id"], trained),
        verifier=verifier_report,
    )
    model, tokenizer = language_model.load_model(), language_model.load_tokenizer()
    measured = measure(evidence, settings, lambda texts: text_losses(model, tokenizer, texts))
    _logger.info("Compared with equally many real rows: %s.", measured.report.summary())
    _logger.info("The pool's %s.", measured.report.labels_summary())
    return measured


def plot_generation(
    quality: PoolQuality, ledger: LedgerReport, fine_tuning: FineTuningReport
) -> GenerationFigures:
    """Draw the pool and how it was made."""
    return GenerationFigures(
        pool_figure(quality), classes_figure(quality), generation_figure(ledger, fine_tuning)
    )
