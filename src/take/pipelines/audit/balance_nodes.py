"""Nodes of `audit` that compare the distilled rows with the corpus they stand for."""

from __future__ import annotations

import logging
from pathlib import Path

import pandas as pd

from take.audit.balance.measure import Balance
from take.audit.balance.measure import measure_balance as measure
from take.audit.balance.slices import KnownAccuracy, known_accuracy
from take.audit.balance.terms import BalanceSettings
from take.corpus.budget import Budget
from take.evaluation.grid_settings import EvaluationSettings
from take.evaluation.store import CellStore
from take.rows.labelled import class_sizes

_logger = logging.getLogger(__name__)


def measure_balance(
    distilled: pd.DataFrame,
    pool: pd.DataFrame,
    corpus: pd.DataFrame,
    budget: str | int,
    settings: BalanceSettings,
) -> Balance:
    """Shifts of classes, lengths, words and identity terms."""
    shares = Budget.parse(budget).split(class_sizes(corpus))
    expected = [share / sum(shares) for share in shares]
    measured = measure(distilled, pool, corpus, expected, settings)
    _logger.info("Balance: %s", measured.report.summary())
    return measured


def gather_accuracy(
    cells: pd.DataFrame | None,
    folder: Path,
    distilled: pd.DataFrame,
    evaluation_split: pd.DataFrame,
    evaluation: EvaluationSettings,
    settings: BalanceSettings,
) -> KnownAccuracy:
    """The accuracy of learners trained on these rows, overall and by slice, if it was evaluated."""
    metrics = dict(evaluation.metrics)
    return known_accuracy(cells, CellStore(folder), distilled, evaluation_split, metrics, settings)
