"""Cells with given scores, and predictions that have these scores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from take.evaluation.cells import CellResult
from take.evaluation.outcomes import EvaluatedOn, Outcomes
from take.evaluation.sealed_split import scores
from take.rows.arrays import Int64

ROWS = 1000
LABELS = np.arange(ROWS) % 2
# The rows that a worse learner is wrong on include those of a better one.
_ORDER = np.random.default_rng(0).permutation(ROWS)


def predictions(accuracy: float) -> Int64:
    wrong = _ORDER[: round(ROWS * (1 - accuracy))]
    found = LABELS.copy()
    found[wrong] = 1 - found[wrong]
    return found


def cells_of(
    method: str,
    accuracies: Sequence[Any],
    learner: str = "lr",
    one_set: bool = False,
    **options: Any,
) -> list[CellResult]:
    """A cell per set seed; a list within is the trainings on that set; None failed."""
    made = []
    for i, of_set in enumerate(accuracies):
        for j, value in enumerate(of_set if isinstance(of_set, list) else [of_set]):
            fields = {
                "corpus": "films",
                "budget": "20/class",
                "error": "out of memory" if value is None else None,
                "set_digest": method if one_set else f"{method}{i}",
                "rows": 40,
                "independent": False,
                "evaluation_rows": ROWS,
                "fingerprint": f"{method} {learner} {i} {j} {value}",
                "set_seed": i,
                "training_seed": j,
            }
            if value is not None:
                fields |= vars(scores(LABELS, predictions(value), 2))
            made.append(CellResult(method=method, learner=learner, **(fields | options)))
    return made


def outcomes_of(cells: Iterable[CellResult]) -> Outcomes:
    scored = [cell for cell in cells if cell.accuracy is not None]
    return Outcomes(
        {EvaluatedOn(corpus, ROWS): LABELS for corpus in {cell.corpus for cell in scored}},
        {cell.fingerprint: predictions(cell.accuracy or 0) for cell in scored},
    )
