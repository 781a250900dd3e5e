"""Local search over K-subsets under the entropic transport cost with uniform target 1/K.

The value of Eq. 11 from P^w to a set S, ν = 1/K, is a maximum over potentials (f, g). Keep the
optimal f and g of S, replace a by b, and give b the potential that fills its column,

    g_b = −ε log Σ_n w_n a_nb e^{(f_n − C_nb)/ε},   a the prior coupling, 1 without one.

These potentials are feasible for S − a + b and all its columns have mass 1/K. By weak duality

    value(S − a + b) ≥ value(S) + (g_b − g_a) / K.

One product gives g_b for the whole pool: it ranks all K (M − K) swaps and proves those with
g_b ≥ g_a useless without solving them. The others are solved starting from the last solution.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from take.rows.arrays import Float32, Float64, Int64
from take.rows.blocks import ArrayBlocks
from take.selection.facility import greedy_path
from take.selection.facility_costs import FacilityCosts
from take.selection.problem import ClassProblem, Selected
from take.selection.selection_settings import SelectionSettings
from take.transport.costs import TransportError, squared_distances
from take.transport.coupling import Coupling
from take.transport.exact import draw_by_weight, read_rows
from take.transport.sinkhorn import EntropicPlan, SinkhornOptions, entropic_plan

LEAST_GAIN = 1e-6  # smallest relative decrease of the value that counts
POTENTIAL_ROWS = 1024


def swap(problem: ClassProblem, settings: SelectionSettings, seed: int) -> Selected:
    """From the greedy facility set, swap while the entropic value falls.

    A large corpus is represented by `swap_rows` rows drawn by weight. The search ends when no swap
    can help (`proven` is 1), or after `swap_patience` solves in a row without a gain.
    """
    chosen, weights = draw_by_weight(problem.weights, settings.swap_rows, seed)
    rows = read_rows(problem.corpus, chosen)
    coupling = problem.coupling.of_rows(chosen) if problem.coupling else None
    search = EntropicSwaps(rows, weights, problem.pool, settings, coupling)
    added = coupling.costs(settings.epsilon) if coupling else None
    blocks, memory = ArrayBlocks(rows), settings.memory_bytes
    with FacilityCosts.of(blocks, weights, problem.pool, memory, added=added) as costs:
        greedy = greedy_path(costs, problem.budget).rows
    search.start(greedy)
    started = search.plan.value
    search.run()
    diagnostics = {
        "entropic_value_before": started,
        "entropic_value": search.plan.value,
        "swaps": float(search.swaps),
        "solves": float(search.solves),
        "proven": float(search.proven),
        "sampled_rows": float(len(rows)),
    }
    return Selected(search.chosen, diagnostics)


class EntropicSwaps:
    """A chosen set, its plan, and swaps that lower the plan's value."""

    plan: EntropicPlan
    chosen: Int64

    def __init__(
        self,
        rows: Float32,
        weights: Float64,
        pool: Float32,
        settings: SelectionSettings,
        coupling: Coupling | None = None,
    ) -> None:
        self._coupling = coupling
        self._rows, self._weights, self._pool = rows, weights, pool
        self._epsilon, self._patience = settings.epsilon, settings.swap_patience
        self._options = SinkhornOptions(
            tolerance=settings.tolerance, memory_bytes=settings.memory_bytes
        )
        self.swaps = self.solves = 0
        self.proven = False

    def start(self, chosen: Int64) -> None:
        """Begin from this set."""
        self.chosen = chosen.copy()
        self.plan = self._solved(chosen, None)

    def run(self) -> None:
        """Swap until nothing helps or patience ends."""
        failures = 0
        while failures < self._patience:
            found, failures = self._next(failures)
            if not found:
                return

    def _next(self, failures: int) -> tuple[bool, int]:
        """Make the first swap that helps; `proven` tells whether none can."""
        potentials = self._pool_potentials()
        least = LEAST_GAIN * max(abs(self.plan.value), 1e-6)
        for position, candidate, bound in self._swaps_by_bound(potentials):
            if bound >= -least:
                self.proven = True
                return False, failures
            trial = self.chosen.copy()
            trial[position] = candidate
            theta = self.plan.theta.copy()
            theta[position] = potentials[candidate] / self._epsilon - np.log(len(trial))
            plan = self._solved_or_none(trial, theta)
            if plan is not None and plan.value < self.plan.value - least:
                self.chosen, self.plan = trial, plan
                self.swaps += 1
                return True, 0
            failures += 1
            if failures >= self._patience:
                return False, failures
        self.proven = True
        return False, failures

    def _swaps_by_bound(self, potentials: Float64) -> Iterator[tuple[int, int, float]]:
        """(position in S, candidate, lower bound of the change), most promising first."""
        K, n_best = len(self.chosen), self._patience
        inside = potentials[self.chosen]
        outside = np.setdiff1d(np.arange(len(potentials)), self.chosen)
        # The best p pairs are among the p best of either side.
        out = np.argsort(-inside, kind="stable")[:n_best]
        into = outside[np.argsort(potentials[outside], kind="stable")[:n_best]]
        bounds = (potentials[into][None, :] - inside[out][:, None]) / K
        for flat in np.argsort(bounds, axis=None, kind="stable"):
            i, j = divmod(int(flat), len(into))
            yield int(out[i]), int(into[j]), float(bounds[i, j])

    def _pool_potentials(self) -> Float64:
        """g_b of every candidate at the current f; for the chosen ones it is their own g."""
        f, epsilon = self.plan.f, self._epsilon
        potentials = np.empty(len(self._pool))
        with np.errstate(divide="ignore"):
            log_weights = np.log(self._weights)
        for start in range(0, len(self._pool), POTENTIAL_ROWS):
            part = self._pool[start : start + POTENTIAL_ROWS]
            exponents = (log_weights + f / epsilon)[:, None] - squared_distances(
                self._rows, part
            ) / epsilon
            if self._coupling is not None:
                part_of = self._coupling.of_targets(np.arange(start, start + len(part)))
                exponents += np.log(part_of(0, len(self._rows)))
            largest = exponents.max(axis=0)
            sums = np.exp(exponents - largest).sum(axis=0)
            potentials[start : start + len(part)] = -epsilon * (largest + np.log(sums))
        potentials[self.chosen] = self.plan.g
        return potentials

    def _solved_or_none(self, chosen: Int64, theta: Float64) -> EntropicPlan | None:
        """The plan of a trial; one that does not converge counts as no gain."""
        try:
            return self._solved(chosen, theta)
        except TransportError:
            return None

    def _solved(self, chosen: Int64, theta: Float64 | None) -> EntropicPlan:
        self.solves += 1
        return entropic_plan(
            ArrayBlocks(self._rows),
            self._weights,
            self._pool[chosen],
            epsilon=self._epsilon,
            prior=self._coupling.of_targets(chosen) if self._coupling else None,
            start=theta,
            options=self._options,
        )
