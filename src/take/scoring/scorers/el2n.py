"""EL2N-style: weight by how wrong the probe is about a row, on average over training."""

from __future__ import annotations

import numpy as np

from take.rows.arrays import Float32
from take.rows.blocks import map_blocks
from take.scoring.checks import squared_norms
from take.scoring.evidence import Evidence
from take.scoring.scorers.base import RowScores


def el2n(evidence: Evidence) -> RowScores:
    """w_n ∝ mean over t ≥ 1 of ‖p_t(x_n) − onehot(y_n)‖ (Paul et al. 2021, on one trajectory).

    The residual norm is I(n, t) of Eq. 7 without its feature factor sqrt(‖φ‖² + 1). θ_0 is left
    out: the untouched head is equally wrong about every row.
    """

    def feature_factors(start: int, block: Float32) -> Float32:
        return np.sqrt(squared_norms(block) + 1)

    blocks = map_blocks(feature_factors, evidence.features, evidence.settings.block_rows)
    mean_norms = evidence.influence[:, 1:].mean(axis=1, dtype=np.float64)
    return RowScores(mean_norms / np.concatenate(list(blocks)))
