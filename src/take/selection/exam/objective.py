"""The exam loss: weighted cross-entropy of scores, and its first two derivatives.

Scores are logits z of shape (E, D). Two classes need one number, the margin z = z_1 − z_0, so D = 1
and there is one exponential per exam row; more classes have D = C. With lse the log-sum-exp,

    ℓ(z, y) = lse(z) − ⟨z, t_y⟩,     lse(z) = log(1 + e^z) if D = 1, else log Σ_k e^{z_k},

and t_y is 1 or 0 if D = 1, else the one-hot of y. Only lse is curved, so the linear
part of all candidates is one matrix product.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from take.rows.arrays import Float32, Float64, Int64

BLOCK_ENTRIES = 1 << 17  # float32 entries processed at once: half a megabyte fits the L2 cache
_PACKED_SCORES = 4  # up to so many, all entries of a curvature cost less than a candidate each
LARGEST_EXPONENT = 80.0  # e^80 is still a float32; beyond it the slower stable form is used
OVERFLOWN = float(np.exp(np.float32(LARGEST_EXPONENT))) * 0.999


def target_codes(n_classes: int) -> Float64:
    """The regression target of each class: ±1, or the centred one-hot; shape (C, D).

    >>> target_codes(2).tolist()
    [[-1.0], [1.0]]
    >>> target_codes(3)[0].round(3).tolist()
    [0.667, -0.333, -0.333]
    """
    if n_classes == 2:
        return np.array([[-1.0], [1.0]])
    return np.eye(n_classes) - 1 / n_classes


def label_codes(labels: Int64, n_classes: int) -> Float64:
    """t_y of each row, the label term of the cross-entropy; shape (E, D).

    >>> label_codes(np.array([0, 1]), 2).tolist()
    [[0.0], [1.0]]
    """
    if n_classes == 2:
        return labels[:, None].astype(np.float64)
    return np.eye(n_classes)[labels]


def log_sum_exp(logits: Float64) -> Float64:
    """Lse of each row; its derivatives are the probabilities and their covariance.

    >>> [log_sum_exp(np.zeros((1, D))).round(4).tolist() for D in (1, 3)]
    [[0.6931], [1.0986]]
    """
    if logits.shape[1] == 1:
        return np.asarray(np.logaddexp(0, logits[:, 0]))
    top = logits.max(axis=1)
    return np.asarray(top + np.log(np.exp(logits - top[:, None]).sum(axis=1)))


def cross_entropy(logits: Float64, codes: Float64, weights: Float64) -> float:
    """Σ_n w_n ℓ(z_n, y_n).

    >>> codes = label_codes(np.array([1, 0]), 2)
    >>> round(cross_entropy(np.array([[9.0], [0.0]]), codes, np.array([0.5, 0.5])), 4)
    0.3466
    """
    return float(weights @ (log_sum_exp(logits) - (logits * codes).sum(axis=1)))


def predicted(logits: Float64) -> Int64:
    """The class of the largest score.

    >>> predicted(np.array([[-1.0], [2.0]])).tolist()
    [0, 1]
    """
    if logits.shape[1] == 1:
        return (logits[:, 0] > 0).astype(np.int64)
    return np.asarray(np.argmax(logits, axis=1))


def packed_curvature(chances: Float64) -> Float64:
    """∂²lse/∂z² of each row: the upper triangle of diag(p) − p pᵀ, off-diagonals doubled.

    So ½ δᵀ (diag(p) − p pᵀ) δ is ½ Σ_{k≤l} packed_kl δ_k δ_l; shape (E, D(D+1)/2).

    >>> packed_curvature(np.array([[0.5]])).tolist()
    [[0.25]]
    """
    first, second = np.triu_indices(chances.shape[1])
    packed = -chances[:, first] * chances[:, second]
    packed[:, first != second] *= 2
    packed[:, first == second] += chances
    return packed


@dataclass(frozen=True)
class Moves:
    """How far each candidate moves each exam row: m_cn = V_cn + h_c g_n, kept in two parts.

    V (Q, E) is not copied; the rank-one part, due to removing the old row, is added block by block,
    or carried through products with V.
    """

    covariances: Float32  # V, (Q, E)
    heights: Float32  # h, (Q,)
    gains: Float32  # g, (E,)

    def of(self, candidates: NDArray[np.int64]) -> Float32:
        """The moves of a few candidates, as one matrix."""
        moves: Float32 = self.covariances[candidates]
        moves += self.heights[candidates, None] * self.gains
        return moves


def quadratic_losses(
    logits: Float64, codes: Float64, weights: Float64, moves: Moves, steps: Float32
) -> Float64:
    """Σ_n w_n ℓ(z_n + m_cn s_c, y_n) of each candidate c to second order, without exponentials.

    With slopes b_n = w_n (p_n − t_n) and curvatures B_n = w_n (diag(p_n) − p_n p_nᵀ),

        L_c ≈ L + s_cᵀ Σ_n m_cn b_n + ½ Σ_n m_cn² s_cᵀ B_n s_c.

    The steps s are (Q, D).

    >>> codes = label_codes(np.array([1]), 2)
    >>> one, none = np.ones(1, np.float32), np.zeros(1, np.float32)
    >>> moves = Moves(np.array([[0.1]], np.float32), heights=none, gains=one)
    >>> near = quadratic_losses(np.zeros((1, 1)), codes, np.ones(1), moves, one[:, None])
    >>> bool(abs(near[0] - np.log1p(np.exp(-0.1))) < 1e-5)
    True
    """
    spread = log_sum_exp(logits)
    chances: Float64 = np.exp(logits - spread[:, None])  # the derivatives of lse
    slopes = (weights[:, None] * (chances - codes)).astype(np.float32)
    changes = _packed_changes if logits.shape[1] <= _PACKED_SCORES else _direct_changes
    change = changes(chances, slopes, weights, moves, steps)
    return np.asarray(change + weights @ (spread - (logits * codes).sum(axis=1)))


def _packed_changes(
    chances: Float64, slopes: Float32, weights: Float64, moves: Moves, steps: Float32
) -> Float64:
    """All entries of Σ_n m_cn² B_n: two skinny products, with V and with V²; D² of memory.

    Σ_n m_cn² B_n = Σ_n V_cn² B_n + 2 h_c Σ_n V_cn g_n B_n + h_c² Σ_n g_n² B_n.
    """
    bends = (weights[:, None] * packed_curvature(chances)).astype(np.float32)
    g, h = moves.gains[:, None], moves.heights[:, None]
    crossed = np.concatenate([slopes, g * bends], axis=1)
    first, second = np.triu_indices(chances.shape[1])
    n_slopes = slopes.shape[1]
    once = np.empty((len(steps), crossed.shape[1]), dtype=np.float32)
    twice = np.empty((len(steps), bends.shape[1]), dtype=np.float32)
    rows = max(1, BLOCK_ENTRIES // len(slopes))
    squares = np.empty((rows, len(slopes)), dtype=np.float32)
    for start in range(0, len(steps), rows):  # V is read once from memory, and squared in cache
        block = moves.covariances[start : start + rows]
        np.matmul(block, crossed, out=once[start : start + rows])
        square = np.square(block, out=squares[: len(block)])
        np.matmul(square, bends, out=twice[start : start + rows])
    linear = once[:, :n_slopes] + h * (moves.gains @ slopes)
    twice += 2 * h * once[:, n_slopes:] + h * h * (np.square(moves.gains) @ bends)
    change = (linear * steps).sum(axis=1, dtype=np.float64)
    change += 0.5 * (twice * steps[:, first] * steps[:, second]).sum(axis=1, dtype=np.float64)
    return np.asarray(change)


def _direct_changes(
    chances: Float64, slopes: Float32, weights: Float64, moves: Moves, steps: Float32
) -> Float64:
    """Σ_n m_cn² s_cᵀ B_n s_c candidate by candidate: the cost grows with D, not with D².

    s_cᵀ B_n s_c = w_n (Σ_k p_nk s_ck² − (Σ_k p_nk s_ck)²).
    """
    narrow, w = chances.astype(np.float32), weights.astype(np.float32)
    weighed = w[:, None] * narrow
    change = np.empty(len(steps))
    rows = max(1, BLOCK_ENTRIES // len(slopes))
    for start in range(0, len(steps), rows):
        stop = min(start + rows, len(steps))
        step, moved = steps[start:stop], moves.of(np.arange(start, stop))
        linear = (moved @ slopes * step).sum(axis=1, dtype=np.float64)
        means = step @ narrow.T
        means *= moved
        bent = (np.square(moved) @ weighed * np.square(step)).sum(axis=1, dtype=np.float64)
        change[start:stop] = linear + 0.5 * (bent - np.square(means) @ w)
    return change


def exact_losses(
    logits: Float64, codes: Float64, weights: Float64, moves: Float32, steps: Float32
) -> Float64:
    """Σ_n w_n ℓ(z_n + m_cn s_c, y_n) of each candidate c: one exponential for each of Q · E · D.

    >>> codes = label_codes(np.array([1]), 2)
    >>> moves, steps = np.array([[2.0]], np.float32), np.array([[1.0]], np.float32)
    >>> exact = exact_losses(np.zeros((1, 1)), codes, np.ones(1), moves, steps)
    >>> exact.round(4).tolist()  # log(1 + e^-2)
    [0.1269]
    """
    w = weights.astype(np.float32)
    bases = np.ascontiguousarray(logits.T, dtype=np.float32)
    labelled = weights[:, None] * codes
    linear = (moves @ labelled.astype(np.float32)) * steps
    losses: Float64 = -linear.sum(axis=1, dtype=np.float64)
    losses -= (labelled * logits).sum()
    rows = max(1, BLOCK_ENTRIES // max(1, len(logits)))
    for start in range(0, len(moves), rows):
        block, step = moves[start : start + rows], steps[start : start + rows]
        curved = _binary(block, step, bases) if len(bases) == 1 else _many(block, step, bases)
        losses[start : start + rows] += curved @ w
    return losses


def _binary(moves: Float32, steps: Float32, bases: Float32) -> Float32:
    """log(1 + e^z), in place."""
    z = moves * steps
    z += bases
    if z.max() > LARGEST_EXPONENT:
        return np.asarray(np.logaddexp(0, z, dtype=np.float32))
    np.exp(z, out=z)
    z += 1
    return np.asarray(np.log(z, out=z))


def _many(moves: Float32, steps: Float32, bases: Float32) -> Float32:
    """Log Σ_k e^{z_k}, shifted by each exam row's largest base."""
    shift = bases.max(axis=0)
    total = np.zeros_like(moves)
    for k, base in enumerate(bases - shift):
        z = moves * steps[:, k : k + 1]
        z += base
        total += np.exp(np.minimum(z, LARGEST_EXPONENT, out=z), out=z)
    if total.max() >= OVERFLOWN or total.min() <= 0:
        logits = bases[:, None] + moves * steps.T[:, :, None]
        return np.asarray(np.logaddexp.reduce(logits, axis=0))
    np.log(total, out=total)
    total += shift
    return total
