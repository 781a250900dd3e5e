"""Entropic optimal transport (Eq. 11) from a weighted corpus to targets, streamed.

By hand because POT and others need the whole N × M matrix, in fp64.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from take.engine import Job, current
from take.rows.arrays import Float32, Float64
from take.rows.blocks import RowBlocks, block_bounds, window
from take.transport.costs import TransportError, squared_distances
from take.transport.kernel import BLOCK_ROWS, MEMORY_BYTES, GibbsKernel, Prior, prior_range

EPSILON = 0.05
TOLERANCE = 1e-5
MAX_ITERATIONS = 2000
ANDERSON_MEMORY = 8
RIDGE = 1e-10  # of the normal equations, in units of their mean diagonal
GROWTH_ALLOWED = 2.0  # of the residual over its best, before the history is thrown away


@dataclass(frozen=True)
class SinkhornOptions:
    """How a plan is computed; none of it changes the plan."""

    tolerance: float = TOLERANCE  # on Σ_c |Σ_n γ_nc − ν_c|; the row marginal is exact
    max_iterations: int = MAX_ITERATIONS
    memory: int = ANDERSON_MEMORY  # of the acceleration; 0 is plain Sinkhorn
    raise_unless_converged: bool = True
    memory_bytes: int = MEMORY_BYTES  # for kernel blocks that are kept between iterations
    block_rows: int = BLOCK_ROWS


@dataclass(frozen=True)
class EntropicPlan:
    """γ_nc = w_n ν_c a_nc e^{(f_n + g_c − C_nc)/ε}, by its potentials."""

    f: Float64  # (N,)
    g: Float64  # (M,)
    target_weights: Float64  # (M,) ν
    received: Float64  # (M,) Σ_n γ_nc
    epsilon: float
    value: float  # ⟨γ, C⟩ + ε KL(γ ‖ α), the minimum of Eq. 11, by the dual
    marginal_error: float  # Σ_c |Σ_n γ_nc − ν_c|
    iterations: int

    @property
    def theta(self) -> Float64:
        """θ = g/ε + log ν: what the row softmax adds to −C/ε."""
        theta: Float64 = self.g / self.epsilon + np.log(self.target_weights)
        return theta


class Anderson:
    """Anderson acceleration of θ ← θ + r(θ): the mix of the last steps whose residuals cancel best.

        θ⁺ = θ + r − Σ_i β_i (Δθ_i + Δr_i),   β = argmin ‖ r − Σ_i β_i Δr_i ‖

    in a weighted norm. Sinkhorn converges linearly and slowly for small ε; this needs a third to a
    tenth of its passes, each of which costs a product of N × M × d. A step that makes things worse
    is undone and followed by a plain one, so it converges wherever Sinkhorn does. With memory 0 it
    is the plain iteration.

    >>> half = Anderson(memory=2, norm_weights=np.ones(1))
    >>> theta = np.array([8.0])
    >>> for _ in range(3):
    ...     theta = half.step(theta, -theta / 2)  # r(θ) = −θ/2 is linear: two steps suffice
    >>> abs(float(theta[0])) < 1e-6
    True
    """

    def __init__(self, memory: int, norm_weights: Float64) -> None:
        self._root = np.sqrt(norm_weights)
        self._thetas: deque[Float64] = deque(maxlen=memory + 1)
        self._residuals: deque[Float64] = deque(maxlen=memory + 1)
        self._memory = memory
        self._best = (np.inf, np.empty(0), np.empty(0))

    def step(self, theta: Float64, residual: Float64) -> Float64:
        """θ⁺, given r at θ."""
        if self._memory == 0:
            return theta + residual
        size = float(np.linalg.norm(self._root * residual))
        best_size, best_theta, best_residual = self._best
        if size > GROWTH_ALLOWED * best_size:
            self._thetas.clear()
            self._residuals.clear()
            self._best = (np.inf, best_theta, best_residual)
            return best_theta + best_residual
        if size < best_size:
            self._best = (size, theta, residual)
        self._thetas.append(theta)
        self._residuals.append(residual)
        if len(self._thetas) == 1:
            return theta + residual
        d_theta = np.diff(np.array(self._thetas), axis=0)
        d_residual = np.diff(np.array(self._residuals), axis=0)
        scaled = d_residual * self._root
        normal = scaled @ scaled.T
        normal[np.diag_indices_from(normal)] += RIDGE * np.trace(normal) / len(normal) + 1e-300
        beta = np.linalg.solve(normal, scaled @ (self._root * residual))
        mixed: Float64 = theta + residual - beta @ (d_theta + d_residual)
        return mixed


def entropic_plan(  # noqa: PLR0913  # the problem of Eq. 11 has that many parts
    corpus: RowBlocks,
    weights: Float64,
    targets: Float32,
    *,
    target_weights: Float64 | None = None,
    epsilon: float = EPSILON,
    prior: Prior | None = None,
    start: Float64 | None = None,
    options: SinkhornOptions | None = None,
) -> EntropicPlan:
    """Eq. 11: argmin over γ ∈ Π(w, ν) of ⟨C, γ⟩ + ε KL(γ ‖ α), with α = w ⊗ ν or a given prior.

    The semi-dual in θ = g/ε + log ν has the gradient ν − γ(θ)ᵀ1, where γ(θ) is the row softmax of
    `take.transport.kernel`; Sinkhorn–Knopp is θ ← θ + log ν − log γ(θ)ᵀ1, one pass an iteration.
    The prior coupling of the paper's appendix enters as a = dα/d(μ⊗ν), by blocks of rows.
    `start` is a θ to begin from, such as the solution of a similar problem.

    >>> from take.rows.blocks import ArrayBlocks
    >>> points = np.eye(2, dtype=np.float32)
    >>> plan = entropic_plan(ArrayBlocks(points), np.array([0.75, 0.25]), points, epsilon=0.1)
    >>> plan.received.round(4).tolist()  # ν is uniform: a quarter of the mass has to move
    [0.5, 0.5]
    """
    options = options or SinkhornOptions()
    nu = _checked_target_weights(target_weights, len(targets))
    mixer = Anderson(options.memory, nu)
    theta = np.log(nu) if start is None else start
    iteration = 0
    with GibbsKernel.of(
        corpus,
        weights,
        targets,
        epsilon,
        prior,
        memory_bytes=options.memory_bytes,
        block_rows=options.block_rows,
    ) as kernel:
        while True:
            received = kernel.received(theta)
            iteration += 1
            error = float(np.abs(received - nu).sum())
            done = error <= options.tolerance or not np.isfinite(error)
            if done or iteration >= options.max_iterations:
                break
            theta = mixer.step(theta, np.log(nu) - np.log(received))
        if not error <= options.tolerance and options.raise_unless_converged:
            raise TransportError(
                f"entropic transport did not converge: after {iteration} iterations the target "
                f"marginal is off by {error:.3g}. Allowed: {options.tolerance:.3g}. Fix: raise ε "
                f"(now {epsilon}), or max_iterations of SinkhornOptions."
            )
        f: Float64 = -epsilon * kernel.log_sums(theta)
        g: Float64 = epsilon * (theta - np.log(nu))
        value = float(weights @ f + nu @ g)
    return EntropicPlan(f, g, nu, received, epsilon, value, error, iteration)


def semi_relaxed_mass(
    corpus: RowBlocks,
    weights: Float64,
    targets: Float32,
    epsilon: float = EPSILON,
    block_rows: int = BLOCK_ROWS,
    prior: Prior | None = None,
) -> Float64:
    """Σ_n γ_nc where the target marginal is free: γ_nc = w_n softmax_c(log a_nc − C_nc/ε).

    A closed form. a is the density of the prior coupling, 1 without one.

    >>> from take.rows.blocks import ArrayBlocks
    >>> points = np.eye(2, dtype=np.float32)
    >>> mass = semi_relaxed_mass(ArrayBlocks(points), np.array([0.75, 0.25]), points)
    >>> mass.round(4).tolist()  # each row stays with itself
    [0.75, 0.25]
    """
    with GibbsKernel.of(
        corpus, weights, targets, epsilon, prior, memory_bytes=0, block_rows=block_rows
    ) as kernel:
        return kernel.received(np.zeros(len(targets)))


class _BlockOfRows(NamedTuple):
    """Consecutive rows, the prior's rows, and their weights where they are needed."""

    start: int
    rows: RowBlocks
    prior: Prior | None
    weights: Float64 | None = None


@dataclass(frozen=True)
class _Shares(Job[_BlockOfRows, tuple[int, Float64, Float32]]):
    """`conditional_plan` of a block."""

    targets: Float32
    theta: Float64
    epsilon: float

    def __call__(self, item: _BlockOfRows) -> tuple[int, Float64, Float32]:
        """Its first row, γ_nc / w_n, and C_nc."""
        n_rows = item.rows.shape[0]
        costs = squared_distances(item.rows.read(0, n_rows), self.targets)
        exponents = self.theta - costs / self.epsilon
        if item.prior is not None:
            with np.errstate(divide="ignore"):
                exponents += np.log(item.prior(0, n_rows))
        exponents -= exponents.max(axis=1, keepdims=True)
        shares: Float64 = np.exp(exponents, out=exponents)
        shares /= shares.sum(axis=1, keepdims=True)
        return item.start, shares, costs


@dataclass(frozen=True)
class _BlockCost(Job[_BlockOfRows, float]):
    """⟨γ, C⟩ of a block."""

    shares: _Shares

    def __call__(self, item: _BlockOfRows) -> float:
        """Σ_n w_n Σ_c γ_nc / w_n C_nc."""
        _, shares, costs = self.shares(item)
        return float(np.asarray(item.weights) @ (shares * costs).sum(axis=1))


def _blocks_of_rows(
    corpus: RowBlocks, prior: Prior | None, block_rows: int, weights: Float64 | None = None
) -> Iterator[_BlockOfRows]:
    for start, stop in block_bounds(corpus.shape[0], block_rows):
        rows, its_prior = window(corpus, start, stop), prior_range(prior, start, stop)
        w = None if weights is None else weights[start:stop]
        yield _BlockOfRows(start, rows, its_prior, w)


def conditional_plan(
    corpus: RowBlocks,
    targets: Float32,
    theta: Float64,
    epsilon: float,
    prior: Prior | None = None,
    block_rows: int = BLOCK_ROWS,
) -> Iterator[tuple[int, Float64, Float32]]:
    """Where each row goes: γ_nc / w_n = softmax_c(θ_c − C_nc/ε + log a_nc) and C_nc, by blocks.

    In fp64 from the exponents on, so that each row sums to 1 to rounding.
    """
    blocks = _blocks_of_rows(corpus, prior, block_rows)
    return current().map(_Shares(targets, theta, epsilon), blocks)


def transport_cost(
    corpus: RowBlocks,
    weights: Float64,
    targets: Float32,
    plan: EntropicPlan,
    prior: Prior | None = None,
    block_rows: int = BLOCK_ROWS,
) -> float:
    """⟨γ, C⟩: how far the mass of a plan travels, without the entropy term.

    >>> from take.rows.blocks import ArrayBlocks
    >>> points, weights = np.eye(2, dtype=np.float32), np.array([0.75, 0.25])
    >>> plan = entropic_plan(ArrayBlocks(points), weights, points, epsilon=0.05)
    >>> round(transport_cost(ArrayBlocks(points), weights, points, plan), 4)
    0.5
    """
    job = _BlockCost(_Shares(targets, plan.theta, plan.epsilon))
    blocks = _blocks_of_rows(corpus, prior, block_rows, weights)
    return sum(current().map(job, blocks))


def _checked_target_weights(target_weights: Float64 | None, n_targets: int) -> Float64:
    if target_weights is None:
        return np.full(n_targets, 1 / n_targets)
    nu = np.asarray(target_weights, dtype=np.float64)
    if nu.shape != (n_targets,) or not (nu > 0).all() or abs(nu.sum() - 1) > TOLERANCE:
        raise TransportError(
            f"target weights have shape {nu.shape} and sum {nu.sum():.6g}. "
            f"Allowed: ({n_targets},) weights above 0 with sum 1. "
            "Fix: leave out targets without mass, and renormalise."
        )
    return nu
