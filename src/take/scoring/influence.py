"""Influence of a row on the probe: gradient norms at every checkpoint, and self-influence.

The influence matrix I(n, t) of Eq. 7 and 8 is the gradient norm of row n at checkpoint t.

Self-influence, Eq. 5, is taken at the last checkpoint, with the exact Hessian or its Kronecker
form. The cross-entropy Hessian of a linear head has no second-derivative term, so Gauss-Newton is
exact:

    H = 1/N Σ_n (diag(p_n) − p_n p_nᵀ) ⊗ φ̃_n φ̃_nᵀ,   φ̃ = [φ; 1],

a matrix of C (d + 1) rows. It is singular, since adding one vector to every class changes nothing;
it is damped by a multiple of its mean diagonal, which is then also its smallest eigenvalue.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from take.rows.arrays import Float32, Float64, Int64
from take.rows.blocks import RowBlocks, map_blocks, squared_norms
from take.scoring.scoring_inputs import ScoringError
from take.scoring.trajectory import ProbeTrajectory, softmax

MAX_DENSE_PARAMETERS = 16_384  # H in float64 takes 2 GB there, and its factor as much again
POWER_ITERATIONS = 100


@dataclass(frozen=True)
class InfluenceMatrix:
    """I(n, t) as an artifact."""

    values: Float32  # (N, T)


def influence_matrix(
    features: RowBlocks, labels: Int64, weights: Float32, biases: Float32, block_rows: int
) -> Float32:
    """Gradient norm of every row at every checkpoint, an array (N, T).

    `weights` (T, C, d) and `biases` (T, C) are the probe's checkpoints.

    Eq. 7 and 8: I(n, t) = ‖∇_W ℓ(z_n; θ_t)‖. The gradient of a linear head is the outer product
    (p_t(x_n) − onehot(y_n)) [φ(x_n); 1]ᵀ, so that without any autograd

        I(n, t) = ‖p_t(x_n) − onehot(y_n)‖ · sqrt(‖φ(x_n)‖² + 1),

    where p_t = softmax(W_t φ + b_t) and the 1 is the bias. All T checkpoints of a block of rows
    are one matrix product; memory is one block beyond the input and the result.

    >>> from take.rows.blocks import ArrayBlocks
    >>> rows = ArrayBlocks(np.eye(2, dtype=np.float32))
    >>> weights, biases = np.zeros((1, 2, 2), np.float32), np.zeros((1, 2), np.float32)
    >>> influence = influence_matrix(rows, np.array([0, 1]), weights, biases, block_rows=1)
    >>> influence.round(6).tolist()  # ‖(½, −½)‖ · √2
    [[1.0], [1.0]]
    """
    n_rows, n_features = features.shape
    T, C = biases.shape
    # Class-major columns: a sum over classes then adds contiguous runs of T numbers.
    stacked = np.ascontiguousarray(weights.transpose(2, 1, 0).reshape(n_features, C * T))
    offsets = np.ascontiguousarray(biases.T).reshape(C * T)

    def gradient_norms(start: int, block: Float32) -> Float32:
        logits = block @ stacked
        logits += offsets
        y = labels[start : start + len(block)]
        norms = residual_norms(logits.reshape(len(block), C, T), y)
        norms *= np.sqrt(squared_norms(block) + 1)[:, None]
        return norms

    influence = np.empty((n_rows, T), dtype=np.float32)
    filled = 0
    for norms in map_blocks(gradient_norms, features, block_rows):
        influence[filled : filled + len(norms)] = norms
        filled += len(norms)
    _refuse_flat_columns(influence)
    return influence


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


def _refuse_flat_columns(influence: Float32) -> None:
    zero = ~influence.any(axis=0)
    if zero.any():
        raise ScoringError(
            "every gradient is zero",
            f"influence matrix, checkpoint {int(np.argmax(zero))}",
            "at least one row that is not fitted perfectly",
            "lower `learning_rate` or `epochs`; the probe has saturated",
        )


@dataclass(frozen=True)
class SelfInfluence:
    """Eq. 5 of every row, and the extreme eigenvalues of the damped Hessian (Proposition 1)."""

    values: Float64  # (N,)
    largest_eigenvalue: float
    smallest_eigenvalue: float


class _LastHead:
    """Probabilities and bias-extended features of a block of rows at the last checkpoint."""

    def __init__(self, labels: Int64, trajectory: ProbeTrajectory) -> None:
        self._labels = labels
        self._weights, self._biases = trajectory.weights[-1], trajectory.biases[-1]
        self.n_classes = len(self._biases)

    def extended(self, block: Float32) -> Float32:
        """φ̃ = [φ; 1] of each row."""
        return np.hstack([block, np.ones((len(block), 1), dtype=np.float32)])

    def probabilities(self, block: Float32) -> Float32:
        return softmax(block @ self._weights.T + self._biases)

    def residuals(self, start: int, block: Float32) -> Float32:
        """P − onehot(y): the output gradient g of each row."""
        residual = self.probabilities(block)
        residual[np.arange(len(block)), self._labels[start : start + len(block)]] -= 1
        return residual


def dense_self_influence(
    features: RowBlocks,
    labels: Int64,
    trajectory: ProbeTrajectory,
    damping: float,
    block_rows: int,
) -> SelfInfluence:
    """Eq. 5: I_self(z) = ∇ℓ(z)ᵀ (H + αI)⁻¹ ∇ℓ(z), with α = damping · mean diagonal of H.

    ∇ℓ = g ⊗ φ̃, so with the (a, b) blocks M_ab of the inverse, I_self = Σ_ab g_a g_b φ̃ᵀ M_ab φ̃: one
    product of rows with each block, never a vector of length C (d + 1) per row.
    """
    head = _LastHead(labels, trajectory)
    C, width = head.n_classes, features.shape[1] + 1
    if C * width > MAX_DENSE_PARAMETERS:
        raise ScoringError(
            f"the head has {C * width} parameters",
            "influence_self",
            f"at most {MAX_DENSE_PARAMETERS} for a dense Hessian",
            "use the `influence_self_kfac` scorer",
        )
    H = _dense_hessian(features, head, width, block_rows)
    alpha = damping * float(np.trace(H)) / len(H)
    H[np.diag_indices_from(H)] += alpha
    largest = _largest_eigenvalue(H)
    inverse = np.linalg.inv(H).reshape(C, width, C, width).astype(np.float32)

    def quadratic_forms(start: int, block: Float32) -> Float64:
        rows, g = head.extended(block), head.residuals(start, block)
        total = np.zeros(len(block))
        for a in range(C):
            for b in range(a, C):
                form = np.einsum("nd,nd->n", rows @ inverse[a, :, b], rows)
                total += (1 if a == b else 2) * g[:, a] * g[:, b] * form
        return total

    values = np.concatenate(list(map_blocks(quadratic_forms, features, block_rows)))
    # H is positive definite; anything below zero is rounding.
    return SelfInfluence(np.maximum(values, 0), largest, alpha)


def kronecker_self_influence(
    features: RowBlocks,
    labels: Int64,
    trajectory: ProbeTrajectory,
    damping: float,
    block_rows: int,
) -> SelfInfluence:
    """Eq. 5 with H ≈ G ⊗ A, where G = E[diag(p) − p pᵀ] and A = E[φ̃ φ̃ᵀ] (K-FAC).

    The inverse factorises, I_self(z) = (gᵀ G⁻¹ g) · (φ̃ᵀ A⁻¹ φ̃): how wrong the head is about the
    row, times how unusual the row is. Each factor is damped by √damping of its mean diagonal.
    """
    head = _LastHead(labels, trajectory)
    n_rows = features.shape[0]

    def moments(start: int, block: Float32) -> tuple[Float64, Float64]:
        rows, p = head.extended(block), head.probabilities(block).astype(np.float64)
        return np.diag(p.sum(axis=0)) - p.T @ p, (rows.T @ rows).astype(np.float64)

    G, A = np.zeros((head.n_classes, head.n_classes)), np.zeros((features.shape[1] + 1,) * 2)
    for g_part, a_part in map_blocks(moments, features, block_rows):
        G += g_part / n_rows
        A += a_part / n_rows
    for factor in (G, A):
        factor[np.diag_indices_from(factor)] += damping**0.5 * np.trace(factor) / len(factor)
    G_inverse, A_inverse = (np.linalg.inv(factor).astype(np.float32) for factor in (G, A))

    def product_forms(start: int, block: Float32) -> Float64:
        rows, g = head.extended(block), head.residuals(start, block)
        wrongness = np.einsum("nc,nc->n", g @ G_inverse, g)
        unusualness = np.einsum("nd,nd->n", rows @ A_inverse, rows)
        product: Float64 = wrongness.astype(np.float64) * unusualness
        return product

    values = np.concatenate(list(map_blocks(product_forms, features, block_rows)))
    spectra = [np.linalg.eigvalsh(factor) for factor in (G, A)]
    largest, smallest = (float(spectra[0][end] * spectra[1][end]) for end in (-1, 0))
    return SelfInfluence(np.maximum(values, 0), largest, smallest)


def _dense_hessian(features: RowBlocks, head: _LastHead, width: int, block_rows: int) -> Float64:
    """H, from its off-diagonal class blocks alone.

    H_ab = −1/N Σ p_a p_b φ̃ φ̃ᵀ for a ≠ b, and since Σ_b p_b = 1 each row of blocks sums to zero:
    H_aa = −Σ_{b≠a} H_ab. That is C (C−1) / 2 products instead of C (C+1) / 2.
    """
    C, n_rows = head.n_classes, features.shape[0]
    pairs = list(combinations(range(C), 2))

    def products(start: int, block: Float32) -> list[Float32]:
        rows, p = head.extended(block), head.probabilities(block)
        return [(rows * (p[:, a] * p[:, b])[:, None]).T @ rows for a, b in pairs]

    H = np.zeros((C, width, C, width))
    for parts in map_blocks(products, features, block_rows):
        for (a, b), part in zip(pairs, parts, strict=True):
            H[a, :, b] -= part
            H[b, :, a] -= part
            H[a, :, a] += part
            H[b, :, b] += part
    H /= n_rows
    return H.reshape(C * width, C * width)


def _largest_eigenvalue(H: Float64) -> float:
    """λ_max by power iteration: all eigenvalues of a matrix of thousands of rows take minutes."""
    vector = np.random.default_rng(0).standard_normal(len(H))
    for _ in range(POWER_ITERATIONS):
        vector = H @ (vector / np.linalg.norm(vector))
    return float(np.linalg.norm(vector))
