"""Algorithm 1 of the paper, to the letter: rank candidates by the mass they receive."""

from __future__ import annotations

import warnings

import numpy as np

from take.selection.problem import ClassProblem, Selected, SelectionWarning
from take.selection.semi_relaxed import heaviest
from take.selection.settings import SelectionSettings
from take.transport.sinkhorn import SinkhornOptions, entropic_plan


def received_mass(problem: ClassProblem, settings: SelectionSettings, seed: int) -> Selected:
    """top-K of Σ_n γ*_nc, where γ* is Eq. 11's plan in Π(w, 1/M) after 200 plain iterations.

    Every candidate of such a plan receives exactly 1/M, so that the ranking is whatever the solver
    has not corrected yet: rounding noise at convergence, the last residual before. Kept for
    comparison, and it always says so.
    """
    options = SinkhornOptions(
        tolerance=0.0,  # all iterations, as the paper has them
        max_iterations=settings.iterations,
        memory=0,
        raise_unless_converged=False,
        memory_bytes=settings.memory_bytes,
        block_rows=settings.block_rows,
    )
    plan = entropic_plan(
        problem.corpus, problem.weights, problem.pool, epsilon=settings.epsilon, options=options
    )
    spread = float(np.ptp(plan.received)) * len(plan.received)
    if plan.marginal_error <= settings.tolerance:
        reason = "within the solver's tolerance, so the ranking is rounding noise"
    else:
        reason = "what Sinkhorn has not corrected yet, so the ranking is that of its residual"
    warnings.warn(
        f"received_mass: after {plan.iterations} iterations the masses of "
        f"{len(plan.received)} candidates differ from 1/M by {plan.marginal_error:.2g} in all "
        f"(tolerance {settings.tolerance:.2g}): {reason}. Use `facility` or `exam` instead.",
        SelectionWarning,
        stacklevel=2,
    )
    diagnostics = {
        "marginal_error": plan.marginal_error,
        "relative_spread": spread,  # (largest − smallest mass) · M
        "ranking_is_noise": float(plan.marginal_error <= settings.tolerance),
        "entropic_value": plan.value,
    }
    return Selected(heaviest(plan.received, problem.budget), diagnostics)
