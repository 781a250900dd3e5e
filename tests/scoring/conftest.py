"""A small corpus on the unit sphere: overlapping classes, so that no probe is perfect."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from take.rows.blocks import ArrayBlocks
from take.scoring.scoring_inputs import ScoringSettings


@dataclass(frozen=True)
class SmallCorpus:
    rows: NDArray[np.float32]
    labels: NDArray[np.int64]
    settings: ScoringSettings

    @property
    def features(self) -> ArrayBlocks:
        return ArrayBlocks(self.rows)


@pytest.fixture(scope="session")
def corpus() -> SmallCorpus:
    rng = np.random.default_rng(7)
    labels = rng.integers(0, 3, size=600)
    centres = rng.standard_normal((3, 16))
    rows = centres[labels] + 1.5 * rng.standard_normal((600, 16))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    settings = ScoringSettings(checkpoints=6, epochs=4, batch_size=32, bootstrap_resamples=100)
    return SmallCorpus(rows.astype(np.float32), labels, settings)
