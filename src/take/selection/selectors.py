"""The selectors by name, and those that are a few lines each."""

from __future__ import annotations

import warnings

import numpy as np

from take.errors import InputError, closest
from take.rows.arrays import Float64, Int64
from take.rows.random import rng
from take.selection.centres import weighted_centres
from take.selection.exam.selector import exam
from take.selection.facility import facility
from take.selection.problem import ClassProblem, EachClass, Selected, SelectionWarning, Selector
from take.selection.selection_settings import SelectionSettings
from take.selection.swap import swap
from take.transport.costs import squared_distances
from take.transport.sinkhorn import SinkhornOptions, entropic_plan, semi_relaxed_mass


def random(problem: ClassProblem, settings: SelectionSettings, seed: int) -> Selected:
    """K distinct candidates, each set equally likely: the baseline. Nested in K."""
    order = rng(seed, "random selection").permutation(len(problem.pool))
    return Selected(order[: problem.budget].astype(np.int64), {})


def received_mass(problem: ClassProblem, settings: SelectionSettings, seed: int) -> Selected:
    """Algorithm 1 of the paper: top-K of Σ_n γ*_nc, γ* Eq. 11's plan in Π(w, 1/M).

    Every candidate of such a plan receives exactly 1/M, so the ranking is what the solver has not
    corrected yet: rounding noise at convergence, the last residual before. Kept for comparison; it
    always warns.
    """
    options = SinkhornOptions(
        tolerance=0.0,  # all iterations, as in the paper
        max_iterations=settings.iterations,
        memory=0,
        raise_unless_converged=False,
        memory_bytes=settings.memory_bytes,
        block_rows=settings.block_rows,
    )
    plan = entropic_plan(
        problem.corpus,
        problem.weights,
        problem.pool,
        epsilon=settings.epsilon,
        prior=problem.coupling,
        options=options,
    )
    is_noise = plan.marginal_error <= settings.tolerance
    if is_noise:
        reason = "within the solver's tolerance, so the ranking is rounding noise"
    else:
        reason = "what Sinkhorn has not corrected yet, so the ranking is that of its residual"
    warnings.warn(
        f"received_mass: after {plan.iterations} iterations the masses of "
        f"{len(plan.received)} candidates differ from 1/M by {plan.marginal_error:.2g} in total "
        f"(tolerance {settings.tolerance:.2g}): {reason}. Use `facility` or `exam` instead.",
        SelectionWarning,
        stacklevel=2,
    )
    diagnostics = {
        "marginal_error": plan.marginal_error,
        "relative_spread": float(np.ptp(plan.received)) * len(plan.received),
        "ranking_is_noise": float(is_noise),
        "entropic_value": plan.value,
    }
    return Selected(heaviest(plan.received, problem.budget), diagnostics)


def semi_relaxed(problem: ClassProblem, settings: SelectionSettings, seed: int) -> Selected:
    """Top-K of Σ_n w_n softmax_c(log a_nc − C_nc/ε): meaningful masses, but twins are both chosen.

    a is the prior coupling, 1 without one. Nested in K.
    """
    mass = semi_relaxed_mass(
        problem.corpus,
        problem.weights,
        problem.pool,
        settings.epsilon,
        settings.block_rows,
        problem.coupling,
    )
    rows = heaviest(mass, problem.budget)
    diagnostics = {"chosen_mass": float(mass[rows].sum()), "largest_mass": float(mass.max())}
    return Selected(rows, diagnostics)


def heaviest(mass: Float64, count: int) -> Int64:
    """The largest, largest first; of equals, the first.

    >>> heaviest(np.array([1.0, 3.0, 2.0, 3.0]), 3).tolist()
    [1, 3, 2]
    """
    return np.argsort(-mass, kind="stable")[:count].astype(np.int64)


def kmeans(problem: ClassProblem, settings: SelectionSettings, seed: int) -> Selected:
    """K centres by weighted k-means, then a distinct candidate for each, at the least total cost.

    If the nearest candidates of all centres differ, these are chosen. Heaviest centre first.
    """
    from scipy.optimize import linear_sum_assignment

    centres, mass, inertia = weighted_centres(
        problem.corpus,
        problem.weights,
        problem.budget,
        settings.kmeans_iterations,
        seed,
        settings.block_rows,
    )
    _, chosen = linear_sum_assignment(squared_distances(centres, problem.pool))
    rows = chosen[np.argsort(-mass, kind="stable")].astype(np.int64)
    return Selected(rows, {"inertia": inertia})


SELECTORS: dict[str, Selector] = {
    "random": EachClass(random, coupled=False),
    "kmeans": EachClass(kmeans, coupled=False),
    "received_mass": EachClass(received_mass),
    "semi_relaxed": EachClass(semi_relaxed),
    "facility": EachClass(facility, can_begin=True),
    "swap": EachClass(swap),
    "exam": exam,
}


def selector(name: str) -> Selector:
    """The selector of that name.

    >>> selector("facilty")
    Traceback (most recent call last):
    take.errors.InputError: ...no selector is called 'facilty'. Fix: did you mean 'facility'?
    """
    if name not in SELECTORS:
        raise InputError(
            f"no selector is called {name!r}", where="selector", remedy=closest(name, SELECTORS)
        )
    return SELECTORS[name]
