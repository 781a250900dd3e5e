"""Scores every swap of a row, by rank-one updates of the surrogate models.

A model trained on the rows S is kernel ridge, that is, the posterior of a Gaussian process:

    A = (K_SS + λI)⁻¹            α = A Y_S                  dual weights, one column a score
    m_x = k_xS α                 G_xS = k_xS A              score, and the gain of each row of S
    V_cx = k_cx − k_cS A k_Sx    v_c = k_cc + λ − k_cS A k_Sc    covariance given S

for exam rows x = e and pool rows x = c. Removing row j of S conditions on one row less,

    A' = A − A_:j A_j: / A_jj        m' = m − G_:j α_j / A_jj       V' = V + G_:j G_:jᵀ / A_jj,
    v' = v + G_:j² / A_jj

(row and column j of A' are zero), and adding row c instead,

    m'' = m' + V'_c: (y_c − m'_c) / v'_c.

So after removing a row the scores of *every* candidate on *every* exam row are available: no
product with K_SS, no solve, only V, which a swap changes by rank two. A swap costs O(E·M), scoring
one position O(E·M_c); a solve for each candidate would cost O(K³ + K·E) · M_c. By hand because no
library keeps V up to date.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from take.rows.arrays import Float32, Float64, Int64
from take.rows.blocks import block_bounds
from take.selection.exam.objective import (
    BLOCK_ENTRIES,
    Moves,
    cross_entropy,
    exact_losses,
    label_codes,
    quadratic_losses,
    target_codes,
)
from take.selection.exam.surrogates import Pool, ScoredRows, Surrogate, solve

_EXACT_SCORES = 512  # candidates scored exactly for a position × scores of each exam row, at most


@dataclass
class FittedModel:
    """A model trained on S, with what scoring a swap needs; only V is large."""

    inverse: Float64  # A, (K, K)
    duals: Float64  # α, (K, D)
    exam_gains: Float64  # G of exam rows, (E, K)
    pool_gains: Float64  # G of pool rows, (M, K)
    exam_scores: Float64  # m of exam rows, (E, D)
    pool_scores: Float64  # m of pool rows, (M, D)
    variances: Float64  # v, (M,)
    covariances: Float32  # V, (M, E): a candidate's row is contiguous


@dataclass(frozen=True)
class LeftOut:
    """The model without row j: exam scores, and what each candidate would add."""

    scores: Float64  # m' of exam rows, (E, D)
    steps: Float64  # (y_c − m'_c) / v'_c of the candidates, (Q, D)
    moves: Moves  # V' of the candidates, (Q, E)


class SwapScorer:
    """The surrogates trained on `rows`, ready to score swaps on the exam rows.

    The loss is the mean cross-entropy of the surrogates. Memory: two float32 matrices M × E per
    surrogate, K_ME and V; 320 MB per surrogate at 5,000 × 8,000.
    """

    def __init__(
        self,
        surrogates: Sequence[Surrogate],
        pool: Pool,
        rows: Int64,
        exam: ScoredRows,
        grams: Sequence[Float32] | None = None,
    ) -> None:
        self.rows = rows.copy()
        self._surrogates, self._pool, self._exam = tuple(surrogates), pool, exam
        self._codes = label_codes(exam.labels, pool.n_classes)
        self._targets = target_codes(pool.n_classes)
        # K_ME of each surrogate; a later scorer on the same exam rows reuses them.
        self.grams = grams or [s.gram(pool.views, exam.views) for s in surrogates]
        self._models = [self._fit(s, g) for s, g in zip(surrogates, self.grams, strict=True)]
        self.loss = self._current_loss()
        self.exam_rows = len(exam.labels)
        self.screened = self.exact = 0

    def best_swap(self, slot: int, exact_candidates: int) -> tuple[int, float]:
        """The pool row that is best in `slot`, and the exam loss with it there.

        All candidates of the class are ranked by the quadratic loss; the best are scored exactly:
        fewer with many classes, where one row moves little and an exact score costs C exponentials
        for each exam row.
        """
        n_scores = self._codes.shape[1]
        exact_candidates = max(1, min(exact_candidates, _EXACT_SCORES // n_scores))
        label = int(self._pool.labels[self.rows[slot]])
        candidates = self._pool.candidates(label)
        left_out = [
            leave_one_out(model, slot, candidates, self._targets[label]) for model in self._models
        ]
        setups = [
            (m.scores / s.temperature, m.moves, (m.steps / s.temperature).astype(np.float32))
            for m, s in zip(left_out, self._surrogates, strict=True)
        ]
        taken = self.rows[self._pool.labels[self.rows] == label] - candidates.start
        free = np.ones(candidates.stop - candidates.start, dtype=bool)
        free[taken] = False
        chosen = np.flatnonzero(free)
        if len(chosen) == 0:
            return int(self.rows[slot]), self.loss
        self.screened += len(chosen)
        weights = self._exam.weights
        if len(chosen) > exact_candidates:
            ranking = np.zeros(len(free))
            for logits, moves, steps in setups:
                share = quadratic_losses(logits, self._codes, weights, moves, steps)
                ranking += share / len(setups)
            ranking[~free] = np.inf
            # In order of position, so that of equal exact losses the first is taken.
            chosen = np.sort(np.argpartition(ranking, exact_candidates)[:exact_candidates])
        losses = np.zeros(len(chosen))
        for logits, moves, steps in setups:
            exact = moves.of(chosen)
            losses += exact_losses(logits, self._codes, weights, exact, steps[chosen]) / len(setups)
        self.exact += len(chosen)
        best = int(np.argmin(losses))
        return int(chosen[best]) + candidates.start, float(losses[best])

    def swap(self, slot: int, row: int) -> None:
        """Put a pool row into `slot`, and update every model by rank-one updates."""
        one = self._pool.views.take(np.array([row]))
        target = self._targets[self._pool.labels[row]]
        for surrogate, gram, model in zip(self._surrogates, self.grams, self._models, strict=True):
            pool_column = surrogate.gram(self._pool.views, one)[:, 0]
            training_column = pool_column[self.rows].astype(np.float64)
            swap(model, slot, row, training_column, gram[row], pool_column, target)
        self.rows[slot] = row
        self.loss = self._current_loss()

    def _fit(self, surrogate: Surrogate, exam_gram: Float32) -> FittedModel:
        views = self._pool.views
        return fit(
            exam_gram,
            surrogate.gram(views.take(self.rows), views),
            surrogate.diagonal(views),
            self._targets[self._pool.labels[self.rows]],
            self.rows,
            surrogate.ridge,
        )

    def _current_loss(self) -> float:
        losses = [
            cross_entropy(model.exam_scores / s.temperature, self._codes, self._exam.weights)
            for model, s in zip(self._models, self._surrogates, strict=True)
        ]
        return float(np.mean(losses))


def fit(
    exam_gram: Float32,
    training_gram: Float32,
    diagonal: Float64,
    targets: Float64,
    rows: Int64,
    ridge: float,
) -> FittedModel:
    """A model trained on the pool's `rows`, exactly; updates start from here.

    exam_gram is K_ME (M, E), training_gram is K_SM (K, M), diagonal is k_cc (M,).

    >>> gram = np.eye(3, dtype=np.float32)
    >>> model = fit(gram, gram[:1], np.ones(3), np.ones((1, 1)), np.array([0]), ridge=1.0)
    >>> model.exam_scores.ravel().tolist(), model.variances.tolist()
    ([0.5, 0.0, 0.0], [1.5, 2.0, 2.0])
    """
    kernel = training_gram.astype(np.float64)
    inverse, duals = solve(kernel[:, rows], targets, ridge)
    exam_gains = exam_gram[rows].astype(np.float64).T @ inverse
    pool_gains = kernel.T @ inverse
    return FittedModel(
        inverse=inverse,
        duals=duals,
        exam_gains=exam_gains,
        pool_gains=pool_gains,
        exam_scores=exam_gains @ targets,
        pool_scores=pool_gains @ targets,
        variances=diagonal + ridge - np.einsum("mk,km->m", pool_gains, kernel),
        covariances=exam_gram - pool_gains.astype(np.float32) @ exam_gram[rows],
    )


def leave_one_out(model: FittedModel, slot: int, candidates: slice, target: Float64) -> LeftOut:
    """Remove the row at `slot`, and prepare to score each candidate in its place.

    The rank-one part of V' is kept separate (`Moves`), so that V is only read.

    >>> gram = np.eye(2, dtype=np.float32)
    >>> model = fit(gram, gram[:1], np.ones(2), np.ones((1, 1)), np.array([0]), ridge=1.0)
    >>> left = leave_one_out(model, 0, slice(0, 2), np.ones(1))
    >>> left.scores.ravel().tolist(), left.steps.ravel().tolist()
    ([0.0, 0.0], [0.5, 0.5])
    """
    pivot, dual = model.inverse[slot, slot], model.duals[slot]
    exam_gain, pool_gain = model.exam_gains[:, slot], model.pool_gains[candidates, slot]
    scores = model.exam_scores - np.outer(exam_gain, dual / pivot)
    pool_scores = model.pool_scores[candidates] - np.outer(pool_gain, dual / pivot)
    variances = model.variances[candidates] + pool_gain**2 / pivot
    moves = Moves(
        model.covariances[candidates],
        (pool_gain / pivot).astype(np.float32),
        exam_gain.astype(np.float32),
    )
    return LeftOut(scores, (target - pool_scores) / variances[:, None], moves)


def swap(
    model: FittedModel,
    slot: int,
    row: int,
    training_column: Float64,
    exam_column: Float32,
    pool_column: Float32,
    target: Float64,
) -> None:
    """Put pool row c into `slot`, in place: remove j, then add c.

    With b = A' k_Sc, t_x = k_xc − G'_x k_Sc and s = v'_c,

        A'' = A' + (e_j − b)(e_j − b)ᵀ / s      G'' = G' + t (e_j − b)ᵀ / s
        m'' = m' + t (y_c − m'_c) / s           v'' = v' − t² / s        V'' = V' − t tᵀ / s.

    The columns are k_Sc, k_Ec and k_Mc; entry `slot` of the first does not matter, because row and
    column j of A' are zero.

    >>> gram = np.array([[1, 0.5], [0.5, 1]], dtype=np.float32)
    >>> model = fit(gram, gram[:1], np.ones(2), np.ones((1, 1)), np.array([0]), ridge=1.0)
    >>> swap(model, 0, 1, np.array([0.5]), gram[1], gram[1], np.ones(1))
    >>> model.exam_scores.ravel().tolist(), model.inverse.tolist()
    ([0.25, 0.5], [[0.5]])
    """
    pivot, dual = model.inverse[slot, slot], model.duals[slot].copy()
    inverse_row = model.inverse[slot].copy()
    exam_gain, pool_gain = model.exam_gains[:, slot].copy(), model.pool_gains[:, slot].copy()
    model.inverse -= np.outer(inverse_row, inverse_row / pivot)
    model.duals -= np.outer(inverse_row, dual / pivot)
    model.exam_gains -= np.outer(exam_gain, inverse_row / pivot)
    model.pool_gains -= np.outer(pool_gain, inverse_row / pivot)
    model.exam_scores -= np.outer(exam_gain, dual / pivot)
    model.pool_scores -= np.outer(pool_gain, dual / pivot)
    model.variances += pool_gain**2 / pivot

    exam_residual = exam_column - model.exam_gains @ training_column
    pool_residual = pool_column - model.pool_gains @ training_column
    scale = model.variances[row]
    direction = -(model.inverse @ training_column)
    direction[slot] = 1.0
    step = (target - model.pool_scores[row]) / scale
    model.inverse += np.outer(direction, direction / scale)
    model.duals += np.outer(direction, step)
    model.exam_gains += np.outer(exam_residual, direction / scale)
    model.pool_gains += np.outer(pool_residual, direction / scale)
    model.exam_scores += np.outer(exam_residual, step)
    model.pool_scores += np.outer(pool_residual, step)
    model.variances -= pool_residual**2 / scale

    # Both rank-one changes of V as one product, in blocks that fit the cache: one pass over V.
    left = np.stack([pool_gain / pivot, -pool_residual / scale], axis=1).astype(np.float32)
    right = np.stack([exam_gain, exam_residual]).astype(np.float32)
    for start, stop in block_bounds(len(left), max(1, BLOCK_ENTRIES // right.shape[1])):
        model.covariances[start:stop] += left[start:stop] @ right
