"""The linear algebra of teaching: what one row more or less changes, by rank-one updates.

A learner taught with the rows S is kernel ridge, that is, the posterior of a Gaussian process:

    A = (K_SS + λI)⁻¹            α = A Y_S                  dual weights, one column a score
    m_x = k_xS α                 G_xS = k_xS A              score, and how it leans on each row of S
    V_cx = k_cx − k_cS A k_Sx    v_c = k_cc + λ − k_cS A k_Sc    what S leaves unexplained of x by c

for exam rows x = e and pool rows x = c. To forget row j of S is to condition on one row less,

    A' = A − A_:j A_j: / A_jj        m' = m − G_:j α_j / A_jj       V' = V + G_:j G_:jᵀ / A_jj,
    v' = v + G_:j² / A_jj

(row and column j of A' are zero), and to learn row c instead,

    m'' = m' + V'_c: (y_c − m'_c) / v'_c.

So after a forgotten row the scores of *every* candidate on *every* exam row are already there: no
product with K_SS, no solve, only V, which a swap changes by rank two. A swap costs O(E·M), scoring
one position O(E·M_c); a solve for each candidate would cost O(K³ + K·E) · M_c.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from take.rows.arrays import Float32, Float64
from take.rows.blocks import block_bounds
from take.selection.exam.objective import BLOCK_ENTRIES, Moves


@dataclass
class Taught:
    """One learner taught with S, and all that scoring a swap needs; only V is large."""

    inverse: Float64  # A, (K, K)
    duals: Float64  # α, (K, D)
    exam_gains: Float64  # G of exam rows, (E, K)
    pool_gains: Float64  # G of pool rows, (M, K)
    exam_scores: Float64  # m of exam rows, (E, D)
    pool_scores: Float64  # m of pool rows, (M, D)
    variances: Float64  # v, (M,)
    covariances: Float32  # V, (M, E): a candidate's row lies in one piece


@dataclass(frozen=True)
class Vacancy:
    """The learner without row j: scores on the exam, and what each candidate would add."""

    scores: Float64  # m' of exam rows, (E, D)
    steps: Float64  # (y_c − m'_c) / v'_c of the candidates, (Q, D)
    moves: Moves  # V' of the candidates, (Q, E)


def solve(gram: Float64, targets: Float64, ridge: float) -> tuple[Float64, Float64]:
    """A = (K_SS + λI)⁻¹ and α = A Y.

    >>> inverse, duals = solve(np.eye(2), np.array([[1.0], [-1.0]]), ridge=1.0)
    >>> inverse.tolist(), duals.tolist()
    ([[0.5, 0.0], [0.0, 0.5]], [[0.5], [-0.5]])
    """
    inverse = np.linalg.inv(gram + ridge * np.eye(len(gram)))
    inverse = (inverse + inverse.T) / 2  # rounding leaves it a little askew, and updates keep that
    return inverse, inverse @ targets


def teach(
    exam_gram: Float32,
    taught_gram: Float32,
    diagonal: Float64,
    targets: Float64,
    rows: NDArray[np.int64],
    ridge: float,
) -> Taught:
    """A learner taught with the pool's `rows`, exactly; updates then start from here.

    exam_gram is K_ME (M, E), taught_gram is K_SM (K, M), diagonal is k_cc (M,).

    >>> gram = np.eye(3, dtype=np.float32)
    >>> learner = teach(gram, gram[:1], np.ones(3), np.ones((1, 1)), np.array([0]), ridge=1.0)
    >>> learner.exam_scores.ravel().tolist(), learner.variances.tolist()
    ([0.5, 0.0, 0.0], [1.5, 2.0, 2.0])
    """
    kernel = taught_gram.astype(np.float64)
    inverse, duals = solve(kernel[:, rows], targets, ridge)
    exam_gains = exam_gram[rows].astype(np.float64).T @ inverse
    pool_gains = kernel.T @ inverse
    return Taught(
        inverse=inverse,
        duals=duals,
        exam_gains=exam_gains,
        pool_gains=pool_gains,
        exam_scores=exam_gains @ targets,
        pool_scores=pool_gains @ targets,
        variances=diagonal + ridge - np.einsum("mk,km->m", pool_gains, kernel),
        covariances=exam_gram - pool_gains.astype(np.float32) @ exam_gram[rows],
    )


def vacate(learner: Taught, slot: int, candidates: slice, target: Float64) -> Vacancy:
    """Forget the row at `slot`, and prepare to score each candidate in its place.

    The rank-one part of V' stays apart (`Moves`), so that V is only read.

    >>> gram = np.eye(2, dtype=np.float32)
    >>> learner = teach(gram, gram[:1], np.ones(2), np.ones((1, 1)), np.array([0]), ridge=1.0)
    >>> empty = vacate(learner, 0, slice(0, 2), np.ones(1))
    >>> empty.scores.ravel().tolist(), empty.steps.ravel().tolist()
    ([0.0, 0.0], [0.5, 0.5])
    """
    pivot, dual = learner.inverse[slot, slot], learner.duals[slot]
    exam_gain, pool_gain = learner.exam_gains[:, slot], learner.pool_gains[candidates, slot]
    scores = learner.exam_scores - np.outer(exam_gain, dual / pivot)
    pool_scores = learner.pool_scores[candidates] - np.outer(pool_gain, dual / pivot)
    variances = learner.variances[candidates] + pool_gain**2 / pivot
    moves = Moves(
        learner.covariances[candidates],
        (pool_gain / pivot).astype(np.float32),
        exam_gain.astype(np.float32),
    )
    return Vacancy(scores, (target - pool_scores) / variances[:, None], moves)


def swap(
    learner: Taught,
    slot: int,
    row: int,
    taught_column: Float64,
    exam_column: Float32,
    pool_column: Float32,
    target: Float64,
) -> None:
    """Put pool row c into `slot`, in place: forget j, then learn c.

    With b = A' k_Sc, t_x = k_xc − G'_x k_Sc and s = v'_c,

        A'' = A' + (e_j − b)(e_j − b)ᵀ / s      G'' = G' + t (e_j − b)ᵀ / s
        m'' = m' + t (y_c − m'_c) / s           v'' = v' − t² / s        V'' = V' − t tᵀ / s.

    The columns are k_Sc, k_Ec and k_Mc; entry `slot` of the first is of no account, because
    row and column j of A' are zero.

    >>> gram = np.array([[1, 0.5], [0.5, 1]], dtype=np.float32)
    >>> learner = teach(gram, gram[:1], np.ones(2), np.ones((1, 1)), np.array([0]), ridge=1.0)
    >>> swap(learner, 0, 1, np.array([0.5]), gram[1], gram[1], np.ones(1))
    >>> learner.exam_scores.ravel().tolist(), learner.inverse.tolist()
    ([0.25, 0.5], [[0.5]])
    """
    pivot, dual = learner.inverse[slot, slot], learner.duals[slot].copy()
    askew = learner.inverse[slot].copy()
    exam_gain, pool_gain = learner.exam_gains[:, slot].copy(), learner.pool_gains[:, slot].copy()
    learner.inverse -= np.outer(askew, askew / pivot)
    learner.duals -= np.outer(askew, dual / pivot)
    learner.exam_gains -= np.outer(exam_gain, askew / pivot)
    learner.pool_gains -= np.outer(pool_gain, askew / pivot)
    learner.exam_scores -= np.outer(exam_gain, dual / pivot)
    learner.pool_scores -= np.outer(pool_gain, dual / pivot)
    learner.variances += pool_gain**2 / pivot

    exam_rest = exam_column - learner.exam_gains @ taught_column
    pool_rest = pool_column - learner.pool_gains @ taught_column
    scale = learner.variances[row]
    lean = -(learner.inverse @ taught_column)
    lean[slot] = 1.0
    step = (target - learner.pool_scores[row]) / scale
    learner.inverse += np.outer(lean, lean / scale)
    learner.duals += np.outer(lean, step)
    learner.exam_gains += np.outer(exam_rest, lean / scale)
    learner.pool_gains += np.outer(pool_rest, lean / scale)
    learner.exam_scores += np.outer(exam_rest, step)
    learner.pool_scores += np.outer(pool_rest, step)
    learner.variances -= pool_rest**2 / scale

    # Both rank-one changes of V as one product, in blocks that stay in cache: one pass over V.
    left = np.stack([pool_gain / pivot, -pool_rest / scale], axis=1).astype(np.float32)
    right = np.stack([exam_gain, exam_rest]).astype(np.float32)
    for start, stop in block_bounds(len(left), max(1, BLOCK_ENTRIES // right.shape[1])):
        learner.covariances[start:stop] += left[start:stop] @ right
