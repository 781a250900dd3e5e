"""Anderson acceleration of a fixed-point iteration θ ← θ + r(θ)."""

from __future__ import annotations

from collections import deque

import numpy as np

from take.rows.arrays import Float64

RIDGE = 1e-10  # of the normal equations, in units of their mean diagonal
GROWTH_ALLOWED = 2.0  # of the residual over its best, before the history is thrown away


class Anderson:
    """The next θ from the last few: the mix of steps whose residuals cancel best.

        θ⁺ = θ + r − Σ_i β_i (Δθ_i + Δr_i),   β = argmin ‖ r − Σ_i β_i Δr_i ‖

    in a weighted norm. Sinkhorn converges linearly and slowly for small ε; this needs a third to a
    tenth of its passes, each of which costs a product of N × M × d. A step that makes things worse
    is taken back and followed by a plain one, so that it converges wherever Sinkhorn does. With no
    memory it *is* the plain iteration.

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
        """θ⁺, having seen r at θ."""
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
