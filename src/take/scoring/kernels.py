"""Temporal kernels k(t) of Eq. 9: how much each checkpoint counts."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable

import numpy as np

from take.rows.arrays import Float64
from take.scoring.errors import ScoringError, ScoringWarning
from take.scoring.settings import KernelName

# k(t, T, λ) for t = 0 … T−1. λ is only read by the exponential kernel.
_FORMULAS: dict[KernelName, Callable[[int, int, float], float]] = {
    "exponential": lambda t, T, decay: math.exp(-decay * t / T),
    "linear": lambda t, T, decay: 1 - t / T,
    "cosine": lambda t, T, decay: (1 + math.cos(math.pi * t / T)) / 2,
    "constant": lambda t, T, decay: 1.0,
    "last": lambda t, T, decay: float(t == T - 1),
}


def kernel_values(
    kernel: KernelName | tuple[float, ...], checkpoints: int, decay: float
) -> Float64:
    """k(0) … k(T−1) of Eq. 9, where T is the number of checkpoints and λ the decay.

    exponential e^{−λt/T}, linear 1 − t/T, cosine ½(1 + cos(πt/T)), constant 1, last [t = T−1];
    or the T values themselves. Proposition 2 is stated for decreasing k, so custom values that do
    not decrease are used, with a warning.

    >>> kernel_values("linear", checkpoints=4, decay=1.0).tolist()
    [1.0, 0.75, 0.5, 0.25]
    """
    if isinstance(kernel, str):
        formula = _FORMULAS[kernel]
        return np.array([formula(t, checkpoints, decay) for t in range(checkpoints)])
    values = np.array(kernel, dtype=np.float64)
    if values.shape != (checkpoints,) or not (np.isfinite(values) & (values >= 0)).all():
        raise ScoringError(
            f"kernel is {kernel}",
            "kernel",
            f"{checkpoints} finite values ≥ 0, one per checkpoint",
            "correct the list, or name a built-in kernel",
        )
    if not values.any():
        raise ScoringError("kernel is zero everywhere", "kernel", "a positive value", "add one")
    if (np.diff(values) >= 0).any():
        t = int(np.argmax(np.diff(values) >= 0))
        warnings.warn(
            f"kernel does not decrease: k({t}) = {values[t]:g}, k({t + 1}) = {values[t + 1]:g}. "
            "Proposition 2 assumes that it does.",
            ScoringWarning,
            stacklevel=2,
        )
    return values
