"""One sitting: a panel, its present rows and one set of exam rows, on which swaps are scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from take.rows.arrays import Float32, Float64, Int64
from take.selection.exam.objective import (
    cross_entropy,
    exact_losses,
    label_codes,
    predicted,
    quadratic_losses,
    teaching_codes,
)
from take.selection.exam.panel import Member, Views
from take.selection.exam.updates import Taught, swap, teach, vacate


@dataclass(frozen=True)
class Asked:
    """Labelled rows that a panel is marked on."""

    views: Views
    labels: Int64
    weights: Float64  # ≥ 0, sum 1

    def take(self, rows: Int64) -> Asked:
        """Some of the rows, their weights made to sum to one again."""
        weights = self.weights[rows]
        if not weights.any():  # a part without weight counts all its rows alike
            weights = np.ones(len(rows))
        return Asked(self.views.take(rows), self.labels[rows], weights / weights.sum())


@dataclass(frozen=True)
class Pool:
    """Candidates in order of their class, so that each class is a slice."""

    views: Views
    labels: Int64
    n_classes: int

    def candidates(self, label: int) -> slice:
        """Where the candidates of a class lie."""
        start, stop = np.searchsorted(self.labels, [label, label + 1])
        return slice(int(start), int(stop))


@dataclass(frozen=True)
class Mark:
    """How a panel did: mean over its members."""

    loss: float
    accuracy: float


def mark(panel: Sequence[Member], pool: Pool, rows: Int64, asked: Asked) -> Mark:
    """Teach each member with the pool's `rows` and mark it on the rows asked."""
    codes = label_codes(asked.labels, pool.n_classes)
    targets = teaching_codes(pool.n_classes)[pool.labels[rows]]
    losses, right = [], []
    for member in panel:
        logits = member.logits(pool.views, rows, targets, asked.views)
        losses.append(cross_entropy(logits, codes, asked.weights))
        right.append(float(asked.weights @ (predicted(logits) == asked.labels)))
    return Mark(float(np.mean(losses)), float(np.mean(right)))


class Sitting:
    """The panel taught with `rows`, ready to score swaps on the exam rows.

    The loss is Σ_members CE / members + β Σ_n w_n min_{c ∈ S, y_c = y_n} ‖φ_n − φ_c‖².
    Memory: two float32 matrices M × E a member, K_ME and V; 320 MB each member at 5,000 × 8,000.
    """

    def __init__(
        self,
        panel: Sequence[Member],
        pool: Pool,
        rows: Int64,
        exam: Asked,
        coverage: float = 0.0,
        grams: Sequence[Float32] | None = None,
    ) -> None:
        self.rows = rows.copy()
        self._panel, self._pool, self._exam = tuple(panel), pool, exam
        self._codes = label_codes(exam.labels, pool.n_classes)
        self._teaching = teaching_codes(pool.n_classes)
        # K_ME of each member; a later sitting on the same exam rows is given them.
        self.grams = grams or [m.kernel.gram(pool.views, exam.views) for m in panel]
        self._learners = [self._teach(m, g) for m, g in zip(panel, self.grams, strict=True)]
        self._coverage = coverage
        self._costs = self._transport_costs() if coverage else []
        self.loss = self._current_loss()
        self.exam_rows = len(exam.labels)
        self.screened = self.exact = 0

    def best_swap(self, slot: int, exact_candidates: int) -> tuple[int, float]:
        """The pool row that serves best in `slot`, and the exam loss with it there.

        All candidates of the class are ranked by the quadratic loss, the first few then scored.
        """
        label = int(self._pool.labels[self.rows[slot]])
        candidates = self._pool.candidates(label)
        vacancies = [
            vacate(learner, slot, candidates, self._teaching[label]) for learner in self._learners
        ]
        setups = [
            (v.scores / m.temperature, v.moves, (v.steps / m.temperature).astype(np.float32))
            for v, m in zip(vacancies, self._panel, strict=True)
        ]
        penalties = self._penalties(slot, label)
        taken = self.rows[self._pool.labels[self.rows] == label] - candidates.start
        free = np.ones(candidates.stop - candidates.start, dtype=bool)
        free[taken] = False
        chosen = np.flatnonzero(free)
        if len(chosen) == 0:
            return int(self.rows[slot]), self.loss
        self.screened += len(chosen)
        if len(chosen) > exact_candidates:
            ranking = penalties.copy()
            for logits, moves, steps in setups:
                share = quadratic_losses(logits, self._codes, self._exam.weights, moves, steps)
                ranking += share / len(setups)
            ranking[~free] = np.inf
            # In order of position, so that of equal exact losses the first is taken.
            chosen = np.sort(np.argpartition(ranking, exact_candidates)[:exact_candidates])
        losses = penalties[chosen]
        for logits, moves, steps in setups:
            weights, exact = self._exam.weights, moves.of(chosen)
            losses += exact_losses(logits, self._codes, weights, exact, steps[chosen]) / len(setups)
        self.exact += len(chosen)
        best = int(np.argmin(losses))
        return int(chosen[best]) + candidates.start, float(losses[best])

    def swap(self, slot: int, row: int) -> None:
        """Put a pool row into `slot`, and bring every learner up to date by rank-one updates."""
        one = self._pool.views.take(np.array([row]))
        target = self._teaching[self._pool.labels[row]]
        for member, gram, learner in zip(self._panel, self.grams, self._learners, strict=True):
            pool_column = member.kernel.gram(self._pool.views, one)[:, 0]
            taught = pool_column[self.rows].astype(np.float64)
            swap(learner, slot, row, taught, gram[row], pool_column, target)
        self.rows[slot] = row
        self.loss = self._current_loss()

    def _teach(self, member: Member, exam_gram: Float32) -> Taught:
        views = self._pool.views
        return teach(
            exam_gram,
            member.kernel.gram(views.take(self.rows), views),
            member.kernel.diagonal(views),
            self._teaching[self._pool.labels[self.rows]],
            self.rows,
            member.ridge,
        )

    def _current_loss(self) -> float:
        losses = [
            cross_entropy(learner.exam_scores / member.temperature, self._codes, self._exam.weights)
            for learner, member in zip(self._learners, self._panel, strict=True)
        ]
        return float(np.mean(losses)) + self._current_penalty()

    def _transport_costs(self) -> list[Float32]:
        """C_cn of each class: its candidates against its exam rows."""
        costs = []
        for label in range(self._pool.n_classes):
            candidates = self._pool.views.phi[self._pool.candidates(label)]
            rows = self._exam.views.phi[self._exam.labels == label]
            costs.append(np.maximum(2 - 2 * (candidates @ rows.T), 0).astype(np.float32))
        return costs

    def _penalties(self, slot: int, label: int) -> Float64:
        """β Σ_n w_n min_c C_nc with each candidate of the class in `slot`."""
        candidates = self._pool.candidates(label)
        if not self._coverage:
            return np.zeros(candidates.stop - candidates.start)
        costs = self._costs[label]
        others = np.flatnonzero(self._pool.labels[self.rows] == label)
        others = self.rows[others[others != slot]] - candidates.start
        nearest = costs[others].min(axis=0, initial=np.float32(4))  # 4: opposite unit vectors
        weights = self._exam.weights[self._exam.labels == label].astype(np.float32)
        rest = self._current_penalty(without=label)
        covered = (np.minimum(costs, nearest) @ weights).astype(np.float64)
        return np.asarray(self._coverage * covered + rest)

    def _current_penalty(self, without: int | None = None) -> float:
        if not self._coverage:
            return 0.0
        total = 0.0
        for label, costs in enumerate(self._costs):
            if label != without:
                mine = self.rows[self._pool.labels[self.rows] == label]
                nearest = costs[mine - self._pool.candidates(label).start].min(axis=0, initial=4)
                total += float(self._exam.weights[self._exam.labels == label] @ nearest)
        return self._coverage * total
