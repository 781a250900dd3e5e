"""Nodes of `audit` that look at the rows themselves."""

from __future__ import annotations

import logging

import numpy as np
import pandas as pd

from take.audit.privacy.copies import CopySettings
from take.audit.privacy.distances import DistanceSettings, measure_tables
from take.audit.privacy.pii import PiiSettings
from take.audit.privacy.report import DistancesReport, Table
from take.audit.privacy.screening import Screened, screened
from take.encoder.embeddings import Embeddings
from take.rows.arrays import Int64

_logger = logging.getLogger(__name__)


def screen_rows(
    distilled: pd.DataFrame,
    pool: pd.DataFrame,
    corpus: pd.DataFrame,
    evaluation_split: pd.DataFrame,
    copies: CopySettings,
    pii: PiiSettings,
) -> Screened:
    """Copies of rows of either split, and personal data."""
    found = screened({"distilled": distilled, "pool": pool}, corpus, evaluation_split, copies, pii)
    _logger.info("Screened: %s.", found.counts.summary())
    return found


def measure_distances(
    distilled: pd.DataFrame,
    pool: pd.DataFrame,
    pool_embeddings: Embeddings,
    corpus: pd.DataFrame,
    embeddings: Embeddings,
    generator_rows: pd.DataFrame,
    settings: DistanceSettings,
) -> DistancesReport:
    """Whether rows are nearer to what the language model was trained on than to what it was not."""
    chosen = pd.Index(pool["id"]).get_indexer(distilled["id"])
    tables: dict[Table, Int64] = {"distilled": chosen, "pool": np.arange(len(pool))}
    return measure_tables(tables, pool_embeddings, corpus, embeddings, generator_rows, settings)
