"""Swaps that refine a greedy facility location."""

from __future__ import annotations

import numpy as np

from take.rows.arrays import Float64, Int64
from take.rows.blocks import block_bounds
from take.selection.facility_costs import FacilityCosts
from take.selection.facility_rows import Choice

PROMISING = 64  # candidates of a swap whose columns are computed together
FEW = 4  # of them, tried at once after a swap; twice as many with every call without one
LEAST_GAIN = 1e-6  # smallest decrease of the cost that counts: squared distances are exact to 1e-7
CHANGES_BYTES = 64 * 2**20  # of a part's K × candidates


class SwapSearch:
    """Local search: replace a chosen candidate by another while cost(S) falls.

    With d1 ≤ d2 the costs of the nearest and second-nearest of S, and a(n) the nearest, replacing a
    by b changes the cost by (FastPAM, Schubert & Rousseeuw 2019)

        Δ(a, b) = Σ_n w_n min(C_nb − d1_n, 0)
                + Σ_{n: a(n)=a} w_n [min(C_nb, d2_n) − min(C_nb, d1_n)],

    so one pass over C gives all K × M swaps. The promising b are then tried one by one against the
    current set, each from its own column; a pass without a swap ends the search.
    """

    def __init__(self, costs: FacilityCosts, rows: Int64) -> None:
        self._costs = costs
        self.rows = rows.copy()
        self.swaps = self.sweeps = 0
        self._cost: float | None = None
        self._rank()

    @property
    def cost(self) -> float:
        """Σ_n w_n d1_n."""
        if self._cost is None:
            self._cost = float(self._costs.total("choice_cost", self._choice))
        return self._cost

    def run(self, max_swaps: int | None = None) -> None:
        """Swap until a whole pass finds no swap that lowers the cost, or `max_swaps` were made."""
        most = np.inf if max_swaps is None else max_swaps
        before, can_swap = np.inf, len(self.rows) < self._costs.n_candidates
        # By rounding a useless swap may look like a gain; the cost itself decides when to stop.
        while can_swap and self.swaps < most and self.cost < before - LEAST_GAIN:
            before = self.cost
            self.sweeps += 1
            self._rank()
            change = self._all_changes().min(axis=0)
            change[self.rows] = np.inf
            order = np.argsort(change, kind="stable")
            promising = order[change[order] < -LEAST_GAIN]
            for first in range(0, len(promising), PROMISING):
                self._try(promising[first : first + PROMISING], most)

    def _rank(self) -> None:
        """The chosen rows as a new beginning: workers rank all their rows, and no swaps travel."""
        self._choice = Choice(tuple(int(row) for row in self.rows))
        self._cost = None

    def _all_changes(self) -> Float64:
        """Δ(a, b) for all, (K, M), including the chosen candidates."""
        n_candidates, K = self._costs.n_candidates, len(self.rows)
        width = max(256, CHANGES_BYTES // (8 * K))
        changes = np.empty((K, n_candidates))
        for low, high in block_bounds(n_candidates, width):
            some = np.arange(low, high)
            changes[:, low:high] = self._costs.total("all_changes", self._choice, some)
        return changes

    def _try(self, batch: Int64, most: float) -> None:
        """Put each candidate in place of the chosen one that it replaces best, if the cost falls.

        A few are tried at once; after a swap, those that follow it are tried again.
        """
        done, few = 0, FEW
        while done < len(batch) and self.swaps < most:
            tried = batch[done : done + few]
            columns = tuple(self._costs.column(int(candidate), batch) for candidate in tried)
            changes = self._costs.total("changes", self._choice, columns)
            best = changes.argmin(axis=1)
            helps = np.flatnonzero(changes[np.arange(len(tried)), best] < -LEAST_GAIN)
            if len(helps) == 0:
                done, few = done + len(tried), 2 * few
                continue
            number = int(helps[0])
            done, few = done + number + 1, FEW
            position = int(best[number])
            self.rows[position] = columns[number].candidate
            swaps = (*self._choice.swaps, (position, columns[number]))
            self._choice = self._choice._replace(swaps=swaps)
            self._cost = None
            self.swaps += 1
