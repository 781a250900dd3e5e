"""What is known of how well these rows teach, if it is about these rows and this split."""

from __future__ import annotations

import logging
from typing import NamedTuple

import numpy as np
import pandas as pd

from take.audit.balance.settings import BalanceSettings
from take.audit.balance.slices import predictions_of, slice_accuracy
from take.evaluation.cells import Metric
from take.evaluation.prepared import as_training_set
from take.evaluation.store import CellStore
from take.evaluation.summary import summary_table
from take.rows.labelled import class_ids

_logger = logging.getLogger(__name__)

_METHOD = "distilled"


class KnownAccuracy(NamedTuple):
    """Both empty where nothing is known."""

    slices: pd.DataFrame
    summary: pd.DataFrame


def known_accuracy(
    cells: pd.DataFrame | None,
    store: CellStore,
    distilled: pd.DataFrame,
    split: pd.DataFrame,
    metrics: dict[str, Metric],
    settings: BalanceSettings,
) -> KnownAccuracy:
    """Accuracy by learner and by slice, out of the cells of an evaluation."""
    if cells is None or not _is_of(cells, distilled):
        return _nothing(split, settings)
    try:
        predictions = predictions_of(cells, store, _METHOD, len(split))
    except (OSError, ValueError) as error:
        _logger.warning("What the learners answered cannot be read (%s).", type(error).__name__)
        return _nothing(split, settings)
    truth = class_ids(split)
    mine = cells[(cells["method"] == _METHOD) & cells["error"].isna()]
    for learner, answers in predictions.items():
        told = mine.loc[mine["learner"] == learner, "accuracy"].mean()
        if not np.isclose((answers.labels == truth[answers.rows]).mean(), told, atol=1e-6):
            _logger.warning("The rows were evaluated on another split: not shown.")
            return _nothing(split, settings)
    return KnownAccuracy(
        slice_accuracy(split, predictions, settings),
        summary_table(cells, metrics, compared=_METHOD),
    )


def _is_of(cells: pd.DataFrame, distilled: pd.DataFrame) -> bool:
    taught = set(cells.loc[cells["method"] == _METHOD, "set_digest"]) - {""}
    return taught == {as_training_set(distilled).digest}


def _nothing(split: pd.DataFrame, settings: BalanceSettings) -> KnownAccuracy:
    return KnownAccuracy(slice_accuracy(split, {}, settings), pd.DataFrame())
