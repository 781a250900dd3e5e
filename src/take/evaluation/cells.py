"""A cell of the grid: one learner, taught once with one training set, and what it reached.

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


class CellResult(Frozen):
    """What became of a cell; `error` instead of scores where it failed."""

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

    rows: int = 0
    """That the learner was taught with."""
    missing_classes: int = 0
    set_digest: str = ""
    """Equal for equal training sets: a method that draws nothing makes one under every seed."""
    asked_rows: int = 0
    """Evaluation rows that it was asked."""
    updates: int | None = None
    """Optimiser steps; none for learners that are solved to their optimum."""
    learner_title: str = ""
    """Features, and whose weights or vectors they are."""

    set_seconds: float = 0.0
    """To make the training set, or what it took when it was made."""
    teach_seconds: float = 0.0
    ask_seconds: float = 0.0
    peak_megabytes: float = 0.0
    """Of the process, while the learner was taught and asked."""
    fingerprint: str = ""
    """Of all that decides the scores: rows, learner, seed, evaluation rows, code."""
    code_version: str = ""
    """The package's version and git commit that computed it."""

    @property
    def seconds(self) -> float:
        """Teaching and asking."""
        return self.teach_seconds + self.ask_seconds


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
    """Our own message; of others, which may quote a text, what happened and where."""
    if isinstance(error, TakeError):
        return f"{type(error).__name__}: {error}"
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {Path(last.filename).name}, line {last.lineno}"
