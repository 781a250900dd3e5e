"""Scores every swap of a row: what the surrogates' loss on the exam rows would be."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from take.rows.arrays import Float32, Int64
from take.selection.exam.objective import (
    cross_entropy,
    exact_losses,
    label_codes,
    quadratic_losses,
    target_codes,
)
from take.selection.exam.surrogates import Pool, ScoredRows, Surrogate
from take.selection.exam.updates import FittedModel, fit, leave_one_out, swap


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

        All candidates of the class are ranked by the quadratic loss; the best are scored exactly.
        """
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
