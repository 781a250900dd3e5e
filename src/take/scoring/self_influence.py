"""Self-influence of a row, Eq. 5, at the probe's last checkpoint: exact, K-FAC or EKFAC Hessian.

The cross-entropy Hessian of a linear head has no second-derivative term, so Gauss-Newton is exact,
and it is the Fisher matrix, too:

    H = 1/N Σ_n S_n ⊗ φ̃_n φ̃_nᵀ,   S_n = diag(p_n) − p_n p_nᵀ,   φ̃ = [φ; 1],

a matrix of C (d + 1) rows. It is singular, since adding one vector to every class changes nothing;
it is damped by a multiple of its mean diagonal, which is then also its smallest eigenvalue.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from take.engine.threads import one_thread
from take.rows.arrays import Float32, Float64, Int64
from take.rows.blocks import RowBlocks, block_bounds
from take.rows.passes import compute_blocks
from take.scoring.scoring_inputs import ScoringError
from take.scoring.trajectory import ProbeTrajectory, softmax

MAX_DENSE_PARAMETERS = 16_384  # H in float64 takes 2 GB there, and its factor as much again
POWER_ITERATIONS = 100
_MOST_ENTRIES = 2**24
"""Entries of H that one block of rows adds to at a time: 64 MB."""


@dataclass(frozen=True)
class SelfInfluence:
    """Eq. 5 of every row, and the extreme eigenvalues of the damped Hessian (Proposition 1)."""

    values: Float64  # (N,)
    largest_eigenvalue: float
    smallest_eigenvalue: float


class _LastHead:
    """Probabilities and bias-extended features of a block of rows at the last checkpoint."""

    def __init__(self, trajectory: ProbeTrajectory) -> None:
        self._weights, self._biases = trajectory.weights[-1], trajectory.biases[-1]
        self.n_classes = len(self._biases)

    def extended(self, block: Float32) -> Float32:
        """φ̃ = [φ; 1] of each row."""
        return np.hstack([block, np.ones((len(block), 1), dtype=np.float32)])

    def probabilities(self, block: Float32) -> Float32:
        return softmax(block @ self._weights.T + self._biases)

    def residuals(self, block: Float32, labels: Int64) -> Float32:
        """P − onehot(y): the output gradient g of each row."""
        residual = self.probabilities(block)
        residual[np.arange(len(block)), labels] -= 1
        return residual


@one_thread()
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
    head = _LastHead(trajectory)
    C, width = head.n_classes, features.shape[1] + 1
    if C * width > MAX_DENSE_PARAMETERS:
        raise ScoringError(
            f"the head has {C * width} parameters",
            "influence_self",
            f"at most {MAX_DENSE_PARAMETERS} for a dense Hessian",
            "use the `influence_self_ekfac` scorer",
        )
    H = _dense_hessian(features, head, width, block_rows)
    alpha = damping * float(np.trace(H)) / len(H)
    H[np.diag_indices_from(H)] += alpha
    largest = _largest_eigenvalue(H)
    inverse = np.linalg.inv(H).reshape(C, width, C, width).astype(np.float32)

    def quadratic_forms(start: int, block: Float32, y: Int64) -> Float64:
        rows, g = head.extended(block), head.residuals(block, y)
        total = np.zeros(len(block))
        for a in range(C):
            for b in range(a, C):
                form = np.einsum("nd,nd->n", rows @ inverse[a, :, b], rows)
                total += (1 if a == b else 2) * g[:, a] * g[:, b] * form
        return total

    blocks = compute_blocks(quadratic_forms, features, labels, block_rows=block_rows)
    values = np.concatenate(list(blocks))
    # H is positive definite; anything below zero is rounding.
    return SelfInfluence(np.maximum(values, 0), largest, alpha)


@one_thread()
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
    head = _LastHead(trajectory)
    G, A = _kronecker_factors(features, head, block_rows)
    for factor in (G, A):
        factor[np.diag_indices_from(factor)] += damping**0.5 * np.trace(factor) / len(factor)
    G_inverse, A_inverse = (np.linalg.inv(factor).astype(np.float32) for factor in (G, A))

    def product_forms(start: int, block: Float32, y: Int64) -> Float64:
        rows, g = head.extended(block), head.residuals(block, y)
        wrongness = np.einsum("nc,nc->n", g @ G_inverse, g)
        unusualness = np.einsum("nd,nd->n", rows @ A_inverse, rows)
        product: Float64 = wrongness.astype(np.float64) * unusualness
        return product

    blocks = compute_blocks(product_forms, features, labels, block_rows=block_rows)
    values = np.concatenate(list(blocks))
    spectra = [np.linalg.eigvalsh(factor) for factor in (G, A)]
    largest, smallest = (float(spectra[0][end] * spectra[1][end]) for end in (-1, 0))
    return SelfInfluence(np.maximum(values, 0), largest, smallest)


class Eigenbasis(NamedTuple):
    """H ≈ Σ_ij λ_ij (s_j ⊗ q_i)(s_j ⊗ q_i)ᵀ in the eigenvectors of the Kronecker factors."""

    outputs: Float64  # (C, C), s_j its columns: eigenvectors of G
    inputs: Float64  # (d + 1, d + 1), q_i its columns: eigenvectors of A
    eigenvalues: Float64  # (d + 1, C)


@one_thread()
def fit_eigenbasis(features: RowBlocks, trajectory: ProbeTrajectory, block_rows: int) -> Eigenbasis:
    """EKFAC (George et al. 2018; Grosse et al. 2023): K-FAC's eigenvectors, eigenvalues refitted.

    K-FAC's eigenvalue of s_j ⊗ q_i is the product E[s_jᵀ S s_j] · E[(q_iᵀ φ̃)²] of two means, as if
    a row's uncertainty and its features had nothing to do with each other. EKFAC takes the mean of
    the product, which is the mean squared gradient in that direction, over labels as the head
    predicts them:

        λ_ij = 1/N Σ_n (q_iᵀ φ̃_n)² · s_jᵀ S_n s_j.

    These are the diagonal entries of H in that basis, so no other λ is nearer to H in Frobenius
    norm, K-FAC's included, and the trace is that of H. One pass for the factors and one for λ, each
    a product per block of rows.

    A head that is sure of the rows at 1 and undecided at −1 has curvature along [−1; 1] alone
    (K-FAC: 0.11 there and 0.22 along [1; 1], which only rows that it is sure of have):

    >>> from take.rows.blocks import ArrayBlocks
    >>> rows = ArrayBlocks(np.array([[1.0], [1.0], [-1.0]], dtype=np.float32))
    >>> weights, biases = np.array([[[50], [0]]], np.float32), np.array([[50, 0]], np.float32)
    >>> unused = (np.zeros(0, dtype=np.int64), *[np.zeros(0)] * 2)
    >>> trajectory = ProbeTrajectory(weights, biases, *unused, *unused)
    >>> basis = fit_eigenbasis(rows, trajectory, block_rows=1)
    >>> basis.eigenvalues.max(axis=1).round(3).tolist()
    [0.333, 0.0]
    """
    head = _LastHead(trajectory)
    outputs, inputs = (
        np.linalg.eigh(factor)[1] for factor in _kronecker_factors(features, head, block_rows)
    )

    def squared_gradients(start: int, block: Float32) -> Float64:
        p = head.probabilities(block).astype(np.float64)
        # s_jᵀ S_n s_j is the variance of s_j's entries when one is drawn by p_n.
        variances = p @ outputs**2 - (p @ outputs) ** 2
        squares: Float64 = (head.extended(block) @ inputs) ** 2
        products: Float64 = squares.T @ variances
        return products

    total = sum(
        compute_blocks(squared_gradients, features, block_rows=block_rows),
        start=np.zeros((len(inputs), len(outputs))),
    )
    # None is negative; anything below zero is rounding.
    return Eigenbasis(outputs, inputs, np.maximum(total / features.shape[0], 0))


@one_thread()
def eigenvalue_corrected_self_influence(
    features: RowBlocks,
    labels: Int64,
    trajectory: ProbeTrajectory,
    damping: float,
    block_rows: int,
) -> SelfInfluence:
    """Eq. 5 with H in the Kronecker eigenbasis and its eigenvalues refitted (`fit_eigenbasis`).

        I_self(z) = Σ_ij (q_iᵀ φ̃)² (s_jᵀ g)² / (λ_ij + α),   α = damping · mean diagonal of H,

    with the very α of the exact form, because the trace is the same.
    """
    head = _LastHead(trajectory)
    outputs, inputs, eigenvalues = fit_eigenbasis(features, trajectory, block_rows)
    damped = eigenvalues + damping * eigenvalues.mean()

    def quadratic_forms(start: int, block: Float32, y: Int64) -> Float64:
        g = head.residuals(block, y)
        along_inputs: Float64 = (head.extended(block) @ inputs) ** 2
        form: Float64 = np.einsum("nc,nc->n", along_inputs @ (1 / damped), (g @ outputs) ** 2)
        return form

    blocks = compute_blocks(quadratic_forms, features, labels, block_rows=block_rows)
    values = np.concatenate(list(blocks))
    return SelfInfluence(values, float(damped.max()), float(damped.min()))


def _kronecker_factors(
    features: RowBlocks, head: _LastHead, block_rows: int
) -> tuple[Float64, Float64]:
    """G = E[diag(p) − p pᵀ] and A = E[φ̃ φ̃ᵀ]."""
    n_rows = features.shape[0]

    def moments(start: int, block: Float32) -> tuple[Float64, Float64]:
        rows, p = head.extended(block), head.probabilities(block).astype(np.float64)
        return np.diag(p.sum(axis=0)) - p.T @ p, (rows.T @ rows).astype(np.float64)

    G, A = np.zeros((head.n_classes, head.n_classes)), np.zeros((features.shape[1] + 1,) * 2)
    for g_part, a_part in compute_blocks(moments, features, block_rows=block_rows):
        G += g_part / n_rows
        A += a_part / n_rows
    return G, A


def _dense_hessian(features: RowBlocks, head: _LastHead, width: int, block_rows: int) -> Float64:
    """H, from its off-diagonal class blocks alone.

    H_ab = −1/N Σ p_a p_b φ̃ φ̃ᵀ for a ≠ b, and since Σ_b p_b = 1 each row of blocks sums to zero:
    H_aa = −Σ_{b≠a} H_ab. That is C (C−1) / 2 products instead of C (C+1) / 2.
    """
    C, n_rows = head.n_classes, features.shape[0]
    H = np.zeros((C, width, C, width))

    def add_blocks(pairs: Sequence[tuple[int, int]]) -> None:
        def products(start: int, block: Float32) -> list[Float32]:
            rows, p = head.extended(block), head.probabilities(block)
            return [(rows * (p[:, a] * p[:, b])[:, None]).T @ rows for a, b in pairs]

        for parts in compute_blocks(products, features, block_rows=block_rows):
            for (a, b), part in zip(pairs, parts, strict=True):
                H[a, :, b] -= part
                H[b, :, a] -= part
                H[a, :, a] += part
                H[b, :, b] += part

    pairs = list(combinations(range(C), 2))
    at_once = max(1, _MOST_ENTRIES // width**2)  # several results wait at a time
    for start, stop in block_bounds(len(pairs), at_once):
        add_blocks(pairs[start:stop])
    H /= n_rows
    return H.reshape(C * width, C * width)


def _largest_eigenvalue(H: Float64) -> float:
    """λ_max by power iteration: all eigenvalues of a matrix of thousands of rows take minutes."""
    vector = np.random.default_rng(0).standard_normal(len(H))
    for _ in range(POWER_ITERATIONS):
        vector = H @ (vector / np.linalg.norm(vector))
    return float(np.linalg.norm(vector))
