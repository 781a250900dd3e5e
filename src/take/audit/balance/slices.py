"""Accuracy of learners trained on the distilled rows, overall and on slices of the split.

Slices are by class, by length (thirds of the split), and by mention of each identity group.
Predictions come from the evaluation; no learner is trained or evaluated again.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from take.audit.balance.comparison import CONFIDENCE, Draft, compare, verdicts
from take.audit.balance.terms import BalanceSettings, mentions, sides
from take.audit.intervals import clopper_pearson
from take.errors import InputError
from take.evaluation.outcomes import Outcomes
from take.evaluation.prepared_corpus import as_training_set
from take.evaluation.sealed_split import evaluation_rows
from take.evaluation.summary import summary_table
from take.rows.arrays import Int64
from take.rows.labelled import class_ids, class_names, text_columns
from take.text.tokens import Vocabulary

_METHOD = "distilled"
_THIRDS = ("shortest", "middle", "longest")
_EVEN_ACCURACY = (-0.05, 0.05)  # difference of a slice from the other rows

_COLUMNS = (
    *("learner", "slice", "name", "rows", "accuracy", "low", "high", "rest_accuracy"),
    *("difference", "difference_low", "difference_high", "p"),
)

_logger = logging.getLogger(__name__)


class Predictions(NamedTuple):
    """Predictions of a learner, once for each training."""

    rows: Int64  # (evaluated,) rows of the evaluation split
    labels: Int64  # (trainings, evaluated)


class KnownAccuracy(NamedTuple):
    """Both empty where these rows were not evaluated."""

    slices: pd.DataFrame
    summary: pd.DataFrame


def known_accuracy(
    cells: pd.DataFrame | None,
    outcomes: pd.DataFrame | None,
    distilled: pd.DataFrame,
    split: pd.DataFrame,
    settings: BalanceSettings,
) -> KnownAccuracy:
    """Accuracy by learner and by slice, if the cells are about these rows and this split."""
    nothing = KnownAccuracy(slice_accuracy(split, {}, settings), pd.DataFrame())
    if cells is None or outcomes is None:
        return nothing
    mine = cells[cells["method"] == _METHOD]
    if set(mine["set_digest"]) - {""} != {as_training_set(distilled).digest}:
        return nothing
    try:
        found = predictions_of(cells, outcomes, _METHOD, len(split))
    except InputError as error:
        _logger.warning("The evaluation is not shown: %s", error)
        return nothing
    truth, mine = class_ids(split), mine[mine["error"].isna()]
    for learner, its in found.items():
        recorded = mine.loc[mine["learner"] == learner, "accuracy"].mean()
        if not np.isclose((its.labels == truth[its.rows]).mean(), recorded, atol=1e-6):
            _logger.warning("The rows were evaluated on another split: not shown.")
            return nothing
    summary = summary_table(cells, Outcomes.of(outcomes), compared=_METHOD)
    return KnownAccuracy(slice_accuracy(split, found, settings), summary)


def predictions_of(
    cells: pd.DataFrame, predictions: pd.DataFrame, method: str, split_rows: int
) -> dict[str, Predictions]:
    """All predictions of learners trained on a method's rows, by learner; failed cells left out.

    `split_rows` are the rows of the whole evaluation split; slow learners are evaluated on some.
    Equal cells (a method without randomness is the same under every seed) count once.
    """
    mine = cells[(cells["method"] == method) & cells["error"].isna()]
    benches = mine[["corpus", "budget"]].drop_duplicates()
    if len(benches) > 1:
        raise InputError(
            f"cells of {len(benches)} corpora and budgets",
            where=f"predictions of '{method}'",
            allowed="cells of one corpus at one budget: rows of two splits cannot be distinguished",
            remedy="filter the cells by their columns `corpus` and `budget`",
        )
    known = predictions.set_index("fingerprint")["predicted"]
    return {
        str(learner): _predictions(its, known, split_rows, f"learner '{learner}' by '{method}'")
        for learner, its in mine.drop_duplicates("fingerprint").groupby("learner", sort=False)
    }


def slice_accuracy(
    split: pd.DataFrame, predictions: Mapping[str, Predictions], settings: BalanceSettings
) -> pd.DataFrame:
    """A row per learner and slice: accuracy, and the difference from all other evaluated rows.

    Several predictions of one row are averaged, not counted as more rows. Intervals are over
    evaluation rows, for the learners as they were trained. `shifted`: chance is ruled out over all
    rows of the table at once (Holm), and the difference is larger than 5 points.
    """
    parts, truth = _slices(split, settings) if predictions else {}, class_ids(split)
    found = [_of_learner(name, parts, truth, its) for name, its in predictions.items()]
    table = pd.concat(found, ignore_index=True) if found else pd.DataFrame(columns=_COLUMNS)
    figures = table[["difference", "difference_low", "difference_high", "p"]]
    judged = verdicts(
        [
            Draft("", value, low, high, p, _EVEN_ACCURACY, "")
            for value, low, high, p in figures.itertuples(index=False)
        ]
    )
    return table.drop(columns="p").assign(
        p_adjusted=[p for _, p in judged], verdict=[verdict for verdict, _ in judged]
    )


def _slices(
    split: pd.DataFrame, settings: BalanceSettings
) -> dict[tuple[str, str], NDArray[np.bool_]]:
    """By kind and name: which rows of the split are in the slice."""
    vocabulary = Vocabulary()
    tokens = vocabulary.read(text_columns(split))
    named, sizes = split["label_name"].to_numpy(), tokens.row_sizes
    third = np.searchsorted(np.quantile(sizes, [1 / 3, 2 / 3]), sizes)
    groups = settings.identity_groups
    found = mentions(tokens, vocabulary, groups)
    return {
        **{("class", name): named == name for name in class_names(split)},
        **{("length", name): third == at for at, name in enumerate(_THIRDS)},
        **{("mentions", str(side)): found[:, at] for at, side in enumerate(sides(groups))},
    }


def _of_learner(
    learner: str,
    parts: Mapping[tuple[str, str], NDArray[np.bool_]],
    truth: Int64,
    its: Predictions,
) -> pd.DataFrame:
    right = (its.labels == truth[its.rows]).mean(axis=0)
    inside = np.stack([part[its.rows] for part in parts.values()])
    n = inside.sum(axis=1)
    # A slice of no row, or of all rows, has no other rows to differ from.
    kept = np.flatnonzero((n > 0) & (n < len(right)))
    n, k = n[kept], inside[kept] @ right
    rest_n, rest_k = len(right) - n, right.sum() - k
    low, high = clopper_pearson(k, n, CONFIDENCE)
    rest = compare((k, n), (rest_k, rest_n), "difference", CONFIDENCE)
    kinds, names = np.array(list(parts))[kept].T
    columns = (learner, kinds, names, n, k / n, low, high, rest_k / rest_n, *rest)
    return pd.DataFrame(dict(zip(_COLUMNS, columns, strict=True)))


def _predictions(cells: pd.DataFrame, known: pd.Series, split_rows: int, where: str) -> Predictions:
    counts = cells["evaluation_rows"].astype(int).unique().tolist()
    if len(counts) != 1 or counts[0] > split_rows:
        raise InputError(
            f"{' and '.join(map(str, counts))} rows were evaluated",
            where=where,
            allowed=f"one number for all its cells, at most the {split_rows} rows of the split",
            remedy="evaluate again, or give the split that the cells were evaluated on",
        )
    if not cells["fingerprint"].isin(known.index).all():
        raise InputError(
            "its predictions are not among those of the evaluation",
            where=where,
            remedy="evaluate again, which reuses stored cells",
        )
    labels = np.stack(known[cells["fingerprint"]].tolist()).astype(np.int64)
    return Predictions(evaluation_rows(split_rows, counts[0]), labels)
