"""Nodes of `ingestion`."""

from __future__ import annotations

import logging
from typing import Any

import pandas as pd

from take.corpus.ingest import CorpusReport, Ingested, IngestionSettings, ingest, profile_figure
from take.corpus.sources import RawCorpus

_logger = logging.getLogger(__name__)


def ingest_corpus(raw_corpus: RawCorpus, settings: IngestionSettings) -> Ingested:
    """The checked corpus, its evaluation split and the report on both."""
    ingested = ingest(raw_corpus, settings)
    _log(ingested.report)
    return ingested


def profile_corpus(corpus: pd.DataFrame, evaluation_split: pd.DataFrame) -> Any:
    """A Plotly figure of class sizes and text lengths."""
    return profile_figure(corpus, evaluation_split)


def _log(report: CorpusReport) -> None:
    train, evaluation = report.train, report.evaluation
    _logger.info(
        "Corpus '%s' (%s): %s train rows kept of %s read (%s exact duplicates and %s rows also in "
        "the evaluation split removed; %s texts carry two labels), %s evaluation rows.",
        report.corpus,
        report.task,
        f"{train.rows_kept:,}",
        f"{train.rows_read:,}",
        f"{train.exact_duplicates:,}",
        f"{train.rows_also_in_evaluation:,}",
        f"{train.texts_with_two_labels:,}",
        f"{evaluation.rows_kept:,}",
    )
    for warning in report.warnings:
        _logger.warning("%s", warning)
    absent = [name for name, rows in evaluation.rows_by_class.items() if rows == 0]
    if absent:
        _logger.warning("The evaluation split has no row of class %s.", ", ".join(absent))
    shares = ", ".join(f"{name} {share}" for name, share in report.budget_by_class.items())
    _logger.info(
        "Budget %s: %s rows (%s).", report.budget, sum(report.budget_by_class.values()), shares
    )
