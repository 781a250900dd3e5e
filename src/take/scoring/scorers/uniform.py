"""Every row counts the same: TAKE without κ."""

from __future__ import annotations

import numpy as np

from take.scoring.evidence import Evidence
from take.scoring.scorers.base import RowScores


def uniform(evidence: Evidence) -> RowScores:
    """w_n = 1/N, so that Eq. 3 is plain distribution matching, Eq. 2. Trains no probe."""
    return RowScores(np.ones(evidence.features.shape[0]))
