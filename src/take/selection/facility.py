"""κ-weighted facility location: lazy greedy, then swaps until none helps (METHOD §3).

Maximising Σ_n w_n max_{c∈S} s_nc with s_nc = B − C_nc ≥ 0, B a bound on all costs, is minimising

    cost(S) = Σ_n w_n min_{c∈S} C_nc,

the transport cost of Eq. 3 from P^w to S with a free target marginal. A prior coupling adds
−ε log a_nc to C_nc, as it does in the kernel of Eq. 11. Σ w max s is monotone and
submodular, so greedy reaches 1 − 1/e of the optimum. By hand because libraries need the whole N × M
matrix in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np

from take.rows.arrays import Float64, Int64
from take.selection.facility_costs import FacilityCosts
from take.selection.facility_swaps import SwapSearch
from take.selection.problem import ClassProblem, Selected
from take.selection.selection_settings import SelectionSettings
from take.transport.costs import Column

BATCH = 256  # candidates whose gains are computed together: one product of a good shape
MOST_LEADERS = 2048  # candidates whose gains are kept up to date; if full, half of them
LIKELY = 16  # candidates whose columns are computed with that of the next to be added


@dataclass(frozen=True)
class GreedyPath:
    """Candidates in greedy order; the first K are the solution for every K."""

    rows: Int64  # (K,)
    costs: Float64  # (K,) cost of the first 1, 2, … rows: the budget curve
    computed_gains: int  # gains computed over all rows after the second step


def facility(problem: ClassProblem, settings: SelectionSettings, seed: int) -> Selected:
    """Greedy facility location, refined by swaps unless `settings.refine` is off.

    Without refinement it is nested in K; with it, the refined set is in greedy order. From previous
    rows, greedy adds what is missing, and few swaps are allowed: `settings.most_replaced`.
    """
    previous, length = problem.previous, problem.budget
    if previous is None:
        length = min(len(problem.pool), ceil(settings.path_factor * problem.budget))
    with FacilityCosts.of(
        problem.corpus,
        problem.weights,
        problem.pool,
        settings.memory_bytes,
        settings.block_rows,
        problem.coupling.costs(settings.epsilon) if problem.coupling else None,
    ) as costs:
        path = greedy_path(costs, length, previous)
        rows, cost = path.rows[: problem.budget], float(path.costs[problem.budget - 1])
        diagnostics = {"greedy_cost": cost, "computed_gains": float(path.computed_gains)}
        if settings.refine:
            search = SwapSearch(costs, rows)
            search.run(None if previous is None else settings.replaceable(rows, previous))
            rows, cost = greedy_path(costs, len(rows), among=search.rows).rows, search.cost
            diagnostics |= {"swaps": float(search.swaps), "sweeps": float(search.sweeps)}
    return Selected(rows, {"cost": cost, **diagnostics}, path.rows)


def greedy_path(
    costs: FacilityCosts, budget: int, begin: Int64 | None = None, among: Int64 | None = None
) -> GreedyPath:
    """Repeated argmax of the gain Σ_n w_n max(D_n − C_nc, 0), D_n = min_{c∈S} C_nc.

    The first gains need no N × M product (`FacilityCosts.means`). The second gains take one pass
    over C; the rest is lazy. The rows of `begin` come first, in greedy order among themselves; if
    they are more than the budget, the last are left out. With `among`, only these are chosen from.

    >>> from take.rows.blocks import ArrayBlocks
    >>> points = np.array([[1, 0], [0.8, 0.6], [0, 1]], dtype=np.float32)
    >>> rows, weights = ArrayBlocks(points), np.array([0.3, 0.4, 0.3])
    >>> with FacilityCosts.of(rows, weights, points, memory_bytes=2**20) as costs:
    ...     path = greedy_path(costs, budget=3)
    >>> path.rows.tolist(), path.costs.round(6).tolist()
    ([1, 2, 0], [0.36, 0.12, 0.0])
    """
    allowed = np.arange(costs.n_candidates) if among is None else np.sort(among)
    taken: list[Column] = []
    totals: list[float] = []
    if begin is not None and len(begin):
        most = min(budget, len(begin))
        taken, totals, _ = _lazy_greedy(costs, taken, totals, most, np.sort(begin))
    taken, totals, computed = _lazy_greedy(costs, taken, totals, budget, allowed)
    rows = np.array([column.candidate for column in taken])
    return GreedyPath(rows, np.array(totals), computed)


def _lazy_greedy(
    costs: FacilityCosts, taken: list[Column], totals: list[float], budget: int, allowed: Int64
) -> tuple[list[Column], list[float], int]:
    """Add allowed candidates until there are as many as the budget; the cost after each."""
    if not taken:
        best = int(allowed[np.argmin(costs.means()[allowed])])
        taken = [costs.column(best)]
        totals = [costs.total("cost", tuple(taken))]
    if len(taken) == budget:
        return taken, totals, 0
    gains = _LazyGains(costs, taken, allowed)
    while len(gains.taken) < budget:
        totals = [*totals, gains.take_best()]
    return gains.taken, totals, gains.computed


class _LazyGains:
    """Gains of all candidates: exact for a few leaders, upper bounds for the others.

    S only grows, so no gain ever rises, and an old one is an upper bound. The leaders are kept up
    to date, which is cheap: a step changes D_n of about N/k rows, and only these count. The gain of
    another candidate is computed, over all rows, when its bound exceeds every leader's gain.
    """

    def __init__(self, costs: FacilityCosts, taken: list[Column], allowed: Int64) -> None:
        self._costs, self.taken = costs, taken
        self._bounds = np.full(costs.n_candidates, -np.inf)
        self._bounds[allowed] = self._saved(allowed)
        self._leading = np.zeros(costs.n_candidates, dtype=np.bool_)  # whose gains are exact
        self._leading[allowed] = True
        done = [column.candidate for column in taken]
        self._bounds[done], self._leading[done] = -np.inf, False
        self._keep_leaders()
        self.computed = 0

    def take_best(self) -> float:
        """Add the candidate with the largest gain (of equals, the first) to S: the cost with it."""
        batch = BATCH
        while not self._leading[best := int(self._bounds.argmax())]:
            # Only bounds above the best leader's gain can win.
            exact = self._bounds[self._leading].max(initial=-np.inf)
            others = np.flatnonzero(~self._leading & (self._bounds >= exact))
            first = np.sort(others[np.argsort(-self._bounds[others], kind="stable")[:batch]])
            self._bounds[first] = self._saved(first)
            self._leading[first] = True
            self.computed += len(first)
            batch *= 2
        column = self._costs.column(best, self._next_likely())
        self._bounds[best] = -np.inf
        self._leading[best] = False
        leaders = np.flatnonzero(self._leading)
        lost, cost = np.zeros(len(leaders)), 0.0
        for part in self._costs.parts("lost", tuple(self.taken), column, leaders):
            lost += part.gains
            cost += part.cost
        # Gains are ≥ 0 but for rounding.
        self._bounds[leaders] = np.maximum(self._bounds[leaders] - lost, 0)
        self.taken = [*self.taken, column]
        self._keep_leaders()
        return cost

    def _next_likely(self) -> Int64:
        """The best leaders (ascending), of which mostly the next are added."""
        leaders = np.flatnonzero(self._leading)
        order = np.argsort(-self._bounds[leaders], kind="stable")
        return np.sort(leaders[order[:LIKELY]])

    def _saved(self, candidates: Int64) -> Float64:
        gains: Float64 = self._costs.total("saved", tuple(self.taken), candidates)
        return gains

    def _keep_leaders(self) -> None:
        """Keep only the best leaders; the gains of the others remain as bounds."""
        leaders = np.flatnonzero(self._leading)
        if len(leaders) > MOST_LEADERS:
            order = np.argsort(-self._bounds[leaders], kind="stable")
            self._leading[leaders[order[MOST_LEADERS // 2 :]]] = False
