"""A cell of the grid: one learner, trained once on one training set, and its scores.

Everything that is shown (tables, plots, the page of results) is made from cells alone.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import pandas as pd

from take.errors import TakeError
from take.frozen import Frozen

Metric = Literal["accuracy", "macro_f1", "accuracy_f1"]
Kind = Literal["independent", "same_features"]
"""Of learners: those that see through the selector's features are shown apart."""


class CellResult(Frozen):
    """The result of a cell; `error` instead of scores where it failed."""

    corpus: str
    budget: str
    """As written: 20/class, 0.1% or a number of rows."""
    method: str
    learner: str
    set_seed: int
    training_seed: int
    """Of the trainings on one set: 0, 1, …"""

    accuracy: float | None = None
    macro_f1: float | None = None
    accuracy_f1: float | None = None
    """(accuracy + F1 of class 1) / 2; of two classes only."""
    error: str | None = None
    metric: Metric = "accuracy"
    """The corpus's headline metric: macro F1 where classes are uneven."""
    independent: bool = True
    """Whether the learner is outside the feature spaces that `exam` selects in."""

    rows: int = 0
    """Training rows."""
    pool: int | None = None
    """Which pool the rows were selected from; None: they are not from a pool."""
    curve: tuple[float, ...] = ()
    """Full data: the validation loss at each evaluation of the training, the lowest was kept."""
    missing_classes: int = 0
    set_digest: str = ""
    """Equal for equal training sets: a method that draws nothing makes the same for every seed."""
    evaluation_rows: int = 0
    """Evaluation rows that it predicted."""
    updates: int | None = None
    """Optimiser steps; none for learners that are solved to their optimum."""
    learner_title: str = ""
    """Features, and whose weights or vectors they are."""

    set_seconds: float = 0.0
    """To make the training set (when it was made)."""
    training_seconds: float = 0.0
    prediction_seconds: float = 0.0
    peak_megabytes: float = 0.0
    """Of the process, while the learner was trained and evaluated."""
    fingerprint: str = ""
    """Of everything that decides the scores: rows, learner, seed, evaluation rows, code."""
    code_version: str = ""
    """The package's version and git commit that computed it."""

    @property
    def seconds(self) -> float:
        """Training and prediction."""
        return self.training_seconds + self.prediction_seconds


def cells_table(cells: Iterable[CellResult]) -> pd.DataFrame:
    """One row per cell, columns as the fields.

    >>> cell = CellResult(corpus="films", budget="2/class", method="take", learner="lr",
    ...     set_seed=0, training_seed=0, accuracy=0.8)
    >>> cells_table([cell])[["method", "accuracy"]].values.tolist()
    [['take', 0.8]]
    """
    frame = pd.DataFrame(
        [cell.model_dump() for cell in cells], columns=list(CellResult.model_fields)
    )
    numbers = ["accuracy", "macro_f1", "accuracy_f1", "updates"]
    return frame.astype(dict.fromkeys(numbers, "float64"))


def failure(error: Exception) -> str:
    """The message of our own errors; of others, which may quote a text, only type and place."""
    if isinstance(error, TakeError):
        return f"{type(error).__name__}: {error}"
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {Path(last.filename).name}, line {last.lineno}"


class Score(Frozen):
    """The score of one method with one learner; shares of 1."""

    mean: float
    """Of the corpus's headline metric."""
    standard_error: float | None
    """Over training sets and evaluation rows."""
    accuracy: float | None
    macro_f1: float | None
    share_kept: float | None
    """Of the gain from full data over a constant prediction."""
    above_random: float | None
    independent: bool
    seeds: int


class OverLearners(Frozen):
    """The scores of one method over the learners of a kind."""

    median: float
    lowest: float
    highest: float
    share_kept: float | None
    """The median."""
    learners: int


class EvaluationReport(Frozen):
    """The scores by corpus and budget, learner and method, for MLflow and for programs.

    `scores["sst2 20/class"]["textcnn"]["take"].mean`
    """

    cells: int
    failed_cells: int
    hours: float
    """Of training and prediction, added up."""
    headline: dict[str, float]
    """Of the compared method: the median over independent learners, never the best of them."""
    learners: dict[str, dict[Kind, dict[str, OverLearners]]]
    scores: dict[str, dict[str, dict[str, Score]]]

    @classmethod
    def of(
        cls, cells: pd.DataFrame, summary: pd.DataFrame, over_learners: pd.DataFrame
    ) -> EvaluationReport:
        """The report on a table of cells, its summary, and that over learners."""
        scores: dict[str, dict[str, dict[str, Score]]] = {}
        compared = {}
        for row in summary[summary["mean"].notna()].to_dict("records"):
            place = f"{row['corpus']} {row['budget']}"
            compared[place] = row["compared"]
            scores.setdefault(place, {}).setdefault(row["learner"], {})[row["method"]] = Score(
                mean=row["mean"],
                standard_error=_number(row["standard_error"]),
                accuracy=_number(row["accuracy"]),
                macro_f1=_number(row["macro_f1"]),
                share_kept=_number(row["share_kept"]),
                above_random=_number(row["vs_random"]),
                independent=row["independent"],
                seeds=int(row["n_sets"]),
            )
        learners: dict[str, dict[Kind, dict[str, OverLearners]]] = {}
        headline = {}
        for row in over_learners.to_dict("records"):
            place = f"{row['corpus']} {row['budget']}"
            kind: Kind = "independent" if row["independent"] else "same_features"
            found = OverLearners(
                median=row["median"],
                lowest=row["lowest"],
                highest=row["highest"],
                share_kept=_number(row["share_median"]),
                learners=row["learners"],
            )
            learners.setdefault(place, {}).setdefault(kind, {})[row["method"]] = found
            if row["independent"] and row["method"] == compared[place]:
                headline[place] = found.median
        # A cell that is listed under several seeds was computed once.
        single = cells[~cells["fingerprint"].duplicated() | (cells["fingerprint"] == "")]
        seconds = float((single["training_seconds"] + single["prediction_seconds"]).sum())
        return cls(
            cells=len(cells),
            failed_cells=int(cells["error"].notna().sum()),
            hours=round(seconds / 3600, 3),
            headline=headline,
            learners=learners,
            scores=scores,
        )


def _number(value: float | None) -> float | None:
    return None if value is None or pd.isna(value) else float(value)
