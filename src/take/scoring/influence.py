"""Influence of a row on the probe along training: its gradient norm at every checkpoint.

The influence matrix I(n, t) of Eq. 7 and 8 is the gradient norm of row n at checkpoint t.
`self_influence` has Eq. 5, which is of the last checkpoint alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from take.reuse.tensors import TensorStream
from take.rows.arrays import Bools, Float32, Int64
from take.rows.blocks import RowBlocks, squared_norms
from take.rows.passes import compute_blocks
from take.scoring.scoring_inputs import ScoringError


@dataclass(frozen=True)
class InfluenceMatrix:
    """I(n, t) as an artifact."""

    values: Float32  # (N, T)


@dataclass(frozen=True)
class InfluenceStream:
    """The same before it is saved: computed a block at a time while the file is written."""

    values: TensorStream  # (N, T)


def influence_matrix(
    features: RowBlocks, labels: Int64, weights: Float32, biases: Float32, block_rows: int
) -> Float32:
    """The blocks of `influence_blocks` as one array (N, T)."""
    influence = np.empty((features.shape[0], len(biases)), dtype=np.float32)
    filled = 0
    for norms in influence_blocks(features, labels, weights, biases, block_rows):
        influence[filled : filled + len(norms)] = norms
        filled += len(norms)
    return influence


def influence_blocks(
    features: RowBlocks, labels: Int64, weights: Float32, biases: Float32, block_rows: int
) -> Iterator[Float32]:
    """Gradient norm of every row at every checkpoint, (rows of the block, T) at a time.

    `weights` (T, C, d) and `biases` (T, C) are the probe's checkpoints.

    Eq. 7 and 8: I(n, t) = ‖∇_W ℓ(z_n; θ_t)‖. The gradient of a linear head is the outer product
    (p_t(x_n) − onehot(y_n)) [φ(x_n); 1]ᵀ, so that without any autograd

        I(n, t) = ‖p_t(x_n) − onehot(y_n)‖ · sqrt(‖φ(x_n)‖² + 1),

    where p_t = softmax(W_t φ + b_t) and the 1 is the bias. All T checkpoints of a block of rows
    are one matrix product; memory is a few blocks beyond the input.

    >>> from take.rows.blocks import ArrayBlocks
    >>> rows = ArrayBlocks(np.eye(2, dtype=np.float32))
    >>> weights, biases = np.zeros((1, 2, 2), np.float32), np.zeros((1, 2), np.float32)
    >>> blocks = influence_blocks(rows, np.array([0, 1]), weights, biases, block_rows=1)
    >>> [block.round(6).tolist() for block in blocks]  # ‖(½, −½)‖ · √2
    [[[1.0]], [[1.0]]]
    """
    n_features = features.shape[1]
    T, C = biases.shape
    # Class-major columns: a sum over classes then adds contiguous runs of T numbers.
    stacked = np.ascontiguousarray(weights.transpose(2, 1, 0).reshape(n_features, C * T))
    offsets = np.ascontiguousarray(biases.T).reshape(C * T)

    def gradient_norms(start: int, block: Float32, y: Int64) -> Float32:
        logits = block @ stacked
        logits += offsets
        norms = residual_norms(logits.reshape(len(block), C, T), y)
        norms *= np.sqrt(squared_norms(block) + 1)[:, None]
        return norms

    is_flat = np.ones(T, dtype=np.bool_)
    for norms in compute_blocks(gradient_norms, features, labels, block_rows=block_rows):
        is_flat &= ~norms.any(axis=0)
        yield norms
    _refuse_flat_columns(is_flat)


def residual_norms(logits: Float32, labels: Int64) -> Float32:
    """‖p − onehot(y)‖ of each row and checkpoint, from logits (rows, C, T); overwrites the logits.

    With e_c = e^{z_c − max z}, s = Σ_c e_c and o = Σ_{c≠y} e_c, the norm is
    sqrt(o² + Σ_{c≠y} e_c²) / s. Writing 1 − p_y as o / s keeps its digits when p_y → 1, where the
    subtraction would leave only rounding.

    >>> logits = np.array([[[30.0], [0.0]]], dtype=np.float32)
    >>> bool(np.isclose(residual_norms(logits, np.array([0]))[0, 0], np.sqrt(2) * np.exp(-30)))
    True
    """
    logits -= _over_classes(np.maximum, logits)[:, None, :]
    exponentials = np.exp(logits, out=logits)
    total = _over_classes(np.add, exponentials)
    exponentials[np.arange(len(labels)), labels] = 0
    others = _over_classes(np.add, exponentials)
    exponentials *= exponentials
    squares = _over_classes(np.add, exponentials)
    squares += others * others
    norms: Float32 = np.sqrt(squares, out=squares)
    norms /= total
    return norms


def _over_classes(combine: np.ufunc, values: Float32) -> Float32:
    """Reduce (rows, C, T) over the classes; slices by hand, as NumPy is slow on a short axis."""
    result: Float32 = values[:, 0].copy()
    for c in range(1, values.shape[1]):
        combine(result, values[:, c], out=result)
    return result


def _refuse_flat_columns(is_flat: Bools) -> None:
    if is_flat.any():
        raise ScoringError(
            "every gradient is zero",
            f"influence matrix, checkpoint {int(np.argmax(is_flat))}",
            "at least one row that is not fitted perfectly",
            "lower `learning_rate` or `epochs`; the probe has saturated",
        )
