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

from take.rows.arrays import Float32, Float64, Int64
from take.rows.blocks import squared_norms
from take.selection.problem import ClassProblem, Selected
from take.selection.selection_settings import SelectionSettings
from take.transport.costs import CostColumns

BATCH = 256  # candidates whose gains are computed together: one product of a good shape
MOST_LEADERS = 2048  # candidates whose gains are kept up to date; if full, half of them
LIKELY = 16  # candidates whose columns are computed with that of the next to be added
PROMISING = 64  # candidates of a swap whose columns are computed together
LEAST_GAIN = 1e-6  # smallest decrease of the cost that counts: squared distances are exact to 1e-7


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
    columns = CostColumns(
        problem.corpus,
        problem.pool,
        settings.memory_bytes,
        settings.block_rows,
        problem.coupling.costs(settings.epsilon) if problem.coupling else None,
    )
    length = problem.budget
    if problem.previous is None:
        length = min(len(problem.pool), ceil(settings.path_factor * problem.budget))
    path = greedy_path(columns, problem.weights, length, problem.previous)
    rows, cost = path.rows[: problem.budget], float(path.costs[problem.budget - 1])
    diagnostics = {"greedy_cost": cost, "computed_gains": float(path.computed_gains)}
    if settings.refine:
        search = SwapSearch(columns, problem.weights, rows)
        previous = problem.previous
        search.run(None if previous is None else settings.replaceable(rows, previous))
        rows, cost = search.in_greedy_order(), search.cost
        diagnostics |= {"swaps": float(search.swaps), "sweeps": float(search.sweeps)}
    return Selected(rows, {"cost": cost, **diagnostics}, path.rows)


def greedy_path(
    columns: CostColumns, weights: Float64, budget: int, begin: Int64 | None = None
) -> GreedyPath:
    """Repeated argmax of the gain Σ_n w_n max(D_n − C_nc, 0), D_n = min_{c∈S} C_nc.

    The first gains need no N × M product: Σ_n w_n C_nc = E‖x‖² + ‖y_c‖² − 2⟨E x, y_c⟩ under P^w.
    The second gains take one pass over C; the rest is lazy. The rows of `begin` come first, in
    greedy order among themselves; if they are more than the budget, the last are left out.

    >>> from take.rows.blocks import ArrayBlocks
    >>> points = np.array([[1, 0], [0.8, 0.6], [0, 1]], dtype=np.float32)
    >>> columns = CostColumns(ArrayBlocks(points), points, memory_bytes=2**20)
    >>> path = greedy_path(columns, np.array([0.3, 0.4, 0.3]), budget=3)
    >>> path.rows.tolist(), path.costs.round(6).tolist()
    ([1, 2, 0], [0.36, 0.12, 0.0])
    """
    if begin is not None and len(begin):
        own = columns.restricted(begin)
        path = greedy_path(own, weights, min(budget, len(begin)))
        rows, costs = [int(row) for row in begin[path.rows]], path.costs.tolist()
    else:
        rows = [int(np.argmin(_mean_costs(columns, weights)))]
        costs = [float(weights @ columns.column(rows[0]))]
    if len(rows) == budget:
        return GreedyPath(np.array(rows), np.array(costs), 0)
    gains = _LazyGains(columns, weights, rows)
    while len(rows) < budget:
        rows.append(gains.take_best())
        costs.append(float(weights @ gains.nearest))
    return GreedyPath(np.array(rows), np.array(costs), gains.computed)


class _LazyGains:
    """Gains of all candidates: exact for a few leaders, upper bounds for the others.

    S only grows, so no gain ever rises, and an old one is an upper bound. The leaders are kept up
    to date, which is cheap: a step changes D_n of about N/k rows, and only these count. The gain of
    another candidate is computed, over all rows, when its bound exceeds every leader's gain.
    """

    def __init__(self, columns: CostColumns, weights: Float64, taken: list[int]) -> None:
        self._columns, self._w32 = columns, weights.astype(np.float32)
        self.nearest = columns.column(taken[0]).copy()
        for candidate in taken[1:]:
            np.minimum(self.nearest, columns.column(candidate), out=self.nearest)
        self._everything = np.arange(columns.n_rows)
        self._bounds = self._saved(np.arange(columns.n_candidates))
        self._bounds[taken] = -np.inf
        self._leading = np.ones(columns.n_candidates, dtype=np.bool_)  # whose gains are exact
        self._leading[taken] = False
        self._keep_leaders()
        self.computed = 0

    def take_best(self) -> int:
        """Add the candidate with the largest gain (of equals, the first) to S."""
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
        column = self._columns.column(best, self._next_likely())
        closer = np.flatnonzero(column < self.nearest)
        self._bounds[best] = -np.inf
        self._leading[best] = False
        if len(closer):
            self._subtract_lost(closer, column[closer])
            self.nearest[closer] = column[closer]
        self._keep_leaders()
        return best

    def _next_likely(self) -> Int64:
        """The best leaders (ascending), of which mostly the next are added."""
        leaders = np.flatnonzero(self._leading)
        order = np.argsort(-self._bounds[leaders], kind="stable")
        return np.sort(leaders[order[:LIKELY]])

    def _saved(self, candidates: Int64) -> Float64:
        """Σ_n w_n max(D_n − C_nc, 0) of some candidates (ascending)."""
        gains = np.zeros(len(candidates))
        for part, block in self._columns.row_blocks(self._everything, candidates):
            np.subtract(self.nearest[part, None], block, out=block)
            gains += self._w32[part] @ np.maximum(block, 0, out=block)
        return gains

    def _subtract_lost(self, rows: Int64, after: Float32) -> None:
        """Where D_n falls from b to a, a gain decreases by w_n min(max(b − C_nc, 0), b − a)."""
        leaders = np.flatnonzero(self._leading)
        before, w32 = self.nearest[rows], self._w32[rows]
        fallen = before - after
        lost = np.zeros(len(leaders))
        for part, block in self._columns.row_blocks(rows, leaders):
            np.subtract(before[part, None], block, out=block)
            np.clip(block, 0, fallen[part, None], out=block)
            lost += w32[part] @ block
        self._bounds[leaders] = np.maximum(self._bounds[leaders] - lost, 0)  # ≥ 0 but for rounding

    def _keep_leaders(self) -> None:
        """Keep only the best leaders; the gains of the others remain as bounds."""
        leaders = np.flatnonzero(self._leading)
        if len(leaders) > MOST_LEADERS:
            order = np.argsort(-self._bounds[leaders], kind="stable")
            self._leading[leaders[order[MOST_LEADERS // 2 :]]] = False


def _mean_costs(columns: CostColumns, weights: Float64) -> Float64:
    mean, square = np.zeros(columns.pool.shape[1]), 0.0
    for start in range(0, columns.n_rows, columns.block_rows):
        rows = columns.corpus.read(start, min(start + columns.block_rows, columns.n_rows))
        w = weights[start : start + len(rows)]
        mean += w @ rows
        square += float(w @ squared_norms(rows))
    costs: Float64 = square + columns.pool_norms - 2 * (columns.pool @ mean)
    return costs if columns.added is None else costs + columns.added.mean(weights)


class SwapSearch:
    """Local search: replace a chosen candidate by another while cost(S) falls.

    With d1 ≤ d2 the costs of the nearest and second-nearest of S, and a(n) the nearest, replacing a
    by b changes the cost by (FastPAM, Schubert & Rousseeuw 2019)

        Δ(a, b) = Σ_n w_n min(C_nb − d1_n, 0)
                + Σ_{n: a(n)=a} w_n [min(C_nb, d2_n) − min(C_nb, d1_n)],

    so one pass over C gives all K × M swaps. The promising b are then tried one by one against the
    current set, each from its own column; a pass without a swap ends the search.
    """

    def __init__(self, columns: CostColumns, weights: Float64, rows: Int64) -> None:
        self._columns, self._weights = columns, weights
        self._w32 = weights.astype(np.float32)
        self.rows = rows.copy()
        self.swaps = self.sweeps = 0
        n_rows = columns.n_rows
        self._first, self._second = (np.full(n_rows, -1) for _ in range(2))  # positions in S
        self._d1, self._d2 = (np.full(n_rows, np.inf, dtype=np.float32) for _ in range(2))
        self._rank(np.arange(n_rows))
        self.cost = float(weights @ self._d1)

    def run(self, max_swaps: int | None = None) -> None:
        """Swap until a whole pass finds no swap that lowers the cost, or `max_swaps` were made."""
        most = np.inf if max_swaps is None else max_swaps
        before, can_swap = np.inf, len(self.rows) < self._columns.n_candidates
        # By rounding a useless swap may look like a gain; the cost itself decides when to stop.
        while can_swap and self.swaps < most and self.cost < before - LEAST_GAIN:
            before = self.cost
            self.sweeps += 1
            change = self._all_changes().min(axis=0)
            change[self.rows] = np.inf
            order = np.argsort(change, kind="stable")
            promising = order[change[order] < -LEAST_GAIN]
            for first in range(0, len(promising), PROMISING):
                batch = promising[first : first + PROMISING]
                for candidate in batch:
                    if self.swaps >= most:
                        return
                    column = self._columns.column(int(candidate), batch)
                    self._try(int(candidate), column)

    def in_greedy_order(self) -> Int64:
        """The chosen rows, each next one lowering the cost most, so that prefixes are good."""
        own = self._columns.restricted(self.rows)
        return self.rows[greedy_path(own, self._weights, len(self.rows)).rows]

    def _all_changes(self) -> Float64:
        """Δ(a, b) for all, (K, M), including the chosen candidates."""
        from scipy.sparse import csr_array

        K = len(self.rows)
        shared = np.zeros(self._columns.n_candidates)
        removed = np.zeros((K, self._columns.n_candidates))
        for part, block in self._columns.row_blocks(np.arange(self._columns.n_rows)):
            w, d1, d2 = self._w32[part], self._d1[part, None], self._d2[part, None]
            kept = np.minimum(block, d1)
            shared += w @ kept - float(w @ d1[:, 0])
            lost = np.minimum(block, d2, out=block)
            np.subtract(lost, kept, out=lost)
            # (S × rows of the block), weights at the nearest: sums by nearest.
            columns = np.arange(len(block))
            members = csr_array((w, (self._first[part], columns)), shape=(K, len(block)))
            removed += members @ lost
        return shared + removed

    def _try(self, candidate: int, column: Float32) -> None:
        """Put the candidate in place of the chosen one that it replaces best, if the cost falls."""
        kept = np.minimum(column, self._d1)
        lost = np.minimum(column, self._d2) - kept
        removed = np.bincount(self._first, weights=lost * self._weights, minlength=len(self.rows))
        change = removed + float(self._weights @ (kept.astype(np.float64) - self._d1))
        position = int(change.argmin())
        if change[position] < -LEAST_GAIN:
            self._swap(position, candidate, column)

    def _swap(self, position: int, candidate: int, column: Float32) -> None:
        self.rows[position] = candidate
        self.swaps += 1
        touched = (self._first == position) | (self._second == position)
        closest = ~touched & (column < self._d1)
        self._d2[closest], self._second[closest] = self._d1[closest], self._first[closest]
        self._d1[closest], self._first[closest] = column[closest], position
        between = ~touched & ~closest & (column < self._d2)
        self._d2[between], self._second[between] = column[between], position
        self._rank(np.flatnonzero(touched))
        self.cost = float(self._weights @ self._d1)

    def _rank(self, index: Int64) -> None:
        """Nearest and second-nearest of S for these corpus rows, from scratch."""
        if len(self.rows) == 1:
            costs = self._columns.column(int(self.rows[0]))
            self._first[index], self._d1[index] = 0, costs[index]
            return  # there is no second: d2 stays infinite
        pool = self._columns.pool[self.rows]
        norms = squared_norms(pool)
        height = self._columns.block_rows
        for start in range(0, self._columns.n_rows, height):
            low, high = np.searchsorted(index, [start, start + height])
            if low == high:
                continue
            stop = min(start + height, self._columns.n_rows)
            here = index[low:high]
            rows = self._columns.corpus.read(start, stop)[here - start]
            costs = rows @ pool.T * np.float32(-2) + squared_norms(rows)[:, None] + norms
            if self._columns.added is not None:
                costs += self._columns.added.block(here, self.rows)
            np.maximum(costs, 0, out=costs)
            two = np.argpartition(costs, 1, axis=1)[:, :2]
            values = np.take_along_axis(costs, two, axis=1)
            flip = (values[:, 0] > values[:, 1]).astype(np.int64)
            each = np.arange(len(here))
            self._first[here], self._second[here] = two[each, flip], two[each, 1 - flip]
            self._d1[here], self._d2[here] = values[each, flip], values[each, 1 - flip]
