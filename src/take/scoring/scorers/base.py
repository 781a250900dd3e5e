"""What every scorer takes and returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from take.rows.arrays import Float32
from take.scoring.evidence import Evidence
from take.scoring.weights import knowledge_scores


@dataclass(frozen=True)
class RowScores:
    """A score per row, to which its weight will be proportional."""

    values: NDArray[np.float64]  # (N,), finite and ≥ 0
    floored_entries: int = 0  # entries of I that were lifted before being inverted
    inverted_entries: int = 0  # entries of I that were inverted


Scorer = Callable[[Evidence], RowScores]


def reciprocal_scores(influence: Float32, kernel: NDArray[np.float64], floor: float) -> RowScores:
    """κ of Eq. 9 over the checkpoints that the kernel uses."""
    used = kernel > 0
    scores = knowledge_scores(influence[:, used], kernel[used], floor)
    return RowScores(
        values=scores.kappa,
        floored_entries=int(scores.floored_entries.sum()),
        inverted_entries=influence.shape[0] * int(used.sum()),
    )
