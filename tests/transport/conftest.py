"""A weighted corpus and candidates on the unit sphere, in clusters, as embeddings are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from take.rows.blocks import ArrayBlocks


@dataclass(frozen=True)
class Clouds:
    rows: NDArray[np.float32]
    weights: NDArray[np.float64]
    targets: NDArray[np.float32]

    @property
    def corpus(self) -> ArrayBlocks:
        return ArrayBlocks(self.rows)


def make_clouds(n_rows: int, n_targets: int, n_features: int = 16, seed: int = 0) -> Clouds:
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((5, n_features))

    def unit(count: int) -> NDArray[np.float32]:
        points = centres[rng.integers(0, 5, count)] + rng.standard_normal((count, n_features))
        return (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32)

    weights = rng.gamma(2.0, 1.0, n_rows)
    return Clouds(unit(n_rows), weights / weights.sum(), unit(n_targets))


@pytest.fixture(scope="session")
def clouds() -> Clouds:
    return make_clouds(300, 40)
