from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from kedro.io import DatasetError

from take.datasets.arrays import ArraysDataset
from take.reuse.tensors import TensorStream
from take.rows.blocks import ArrayBlocks
from take.scoring.influence import InfluenceStream, influence_blocks, influence_matrix


def saved(folder: Path, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Influence as streamed to a file, and as a whole."""
    rows = ArrayBlocks(np.eye(5, dtype=np.float32))
    labels, biases = np.array([0, 1, 2, 0, 1]), np.zeros((len(weights), 3), dtype=np.float32)
    blocks = influence_blocks(rows, labels, weights, biases, block_rows=2)
    name = "take.scoring.influence.InfluenceMatrix"
    dataset = ArraysDataset(filepath=str(folder / "influence.safetensors"), dataclass=name)
    dataset.save(InfluenceStream(TensorStream((5, len(weights)), np.dtype("<f4"), blocks)))
    whole = influence_matrix(rows, labels, weights, biases, block_rows=5)
    return dataset.load().values, whole


def test_influence_streamed_to_a_file_is_the_matrix(tmp_path: Path) -> None:
    weights = np.random.default_rng(0).standard_normal((4, 3, 5), dtype=np.float32)
    streamed, whole = saved(tmp_path, weights)
    assert streamed.shape == (5, 4)
    np.testing.assert_array_equal(streamed, whole)


def test_a_saturated_checkpoint_is_refused_while_it_is_written(tmp_path: Path) -> None:
    weights = np.zeros((2, 3, 5), dtype=np.float32)
    for row, label in enumerate([0, 1, 2, 0, 1]):
        weights[1, label, row] = 1e4
    with pytest.raises(DatasetError, match="checkpoint 1: every gradient is zero"):
        saved(tmp_path, weights)
