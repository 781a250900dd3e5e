"""The Gibbs kernel by blocks: one Sinkhorn iteration in one pass over the corpus.

With θ_c = g_c/ε + log ν_c the plan is γ_nc = w_n a_nc e^{θ_c − C_nc/ε} / Σ_c' (the same), a row
softmax whose row marginal is exactly w. An iteration needs its column marginal.

*Stabilised.* A reference θ° is absorbed, E_nc = a_nc e^{θ°_c − C_nc/ε − m_n} with m_n the largest
exponent of row n, so every row's largest entry is 1 and fp32 holds 87 e-folds below it. Then

    s_n = Σ_c E_nc v_c,   u_n = w_n / s_n,   (γᵀ1)_c = v_c Σ_n E_nc u_n,   v = e^{θ − θ°}.

θ° is replaced when θ has moved so far that v would exceed that range.

*One pass.* s of a few rows, then their share of Eᵀu while they are still in cache: the two
half-iterations of Sinkhorn read the kernel once.

*Bounded memory.* Blocks of E are kept while they fit a limit; the others are computed again in
every pass, with one product and one exponential per entry. The N × M matrix is never needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from take.rows.arrays import Float32, Float64
from take.rows.blocks import RowBlocks, block_bounds, squared_norms
from take.transport.costs import TransportError

Prior = Callable[[int, int], Float32]
"""`prior(start, stop)`: rows of a = dα / d(μ⊗ν), the density of the prior coupling, ≥ 0."""

BLOCK_ROWS = 1024
MEMORY_BYTES = 256 * 2**20
TILE_BYTES = 2**20  # what stays in a core's cache between the two products
LARGEST_SHIFT = 40.0  # e-folds that v may span before θ is absorbed; fp32 holds 87
SMALLEST_MASS = 1e-30  # of a column that no row reaches in fp32: it rises step by step


class Marginals(NamedTuple):
    """The column marginal of a plan, and the logarithms for its row potentials."""

    received: Float64  # (M,) Σ_n γ_nc
    log_sums: Float64  # (N,) log Σ_c a_nc e^{θ_c − C_nc/ε}


class GibbsKernel:
    """e^{−C/ε} between a corpus read by blocks and targets in memory.

    >>> from take.rows.blocks import ArrayBlocks
    >>> points = np.eye(2, dtype=np.float32)
    >>> kernel = GibbsKernel(ArrayBlocks(points), points, epsilon=2.0)
    >>> kernel.marginals(np.zeros(2), np.array([0.5, 0.5])).received.round(6).tolist()
    [0.5, 0.5]
    """

    def __init__(
        self,
        corpus: RowBlocks,
        targets: Float32,
        epsilon: float,
        prior: Prior | None = None,
        memory_bytes: int = MEMORY_BYTES,
        block_rows: int = BLOCK_ROWS,
    ) -> None:
        if not epsilon > 0:
            raise TransportError(f"ε is {epsilon}. Allowed: above 0.")
        self._corpus, self._prior, self.epsilon = corpus, prior, epsilon
        self._scaled = np.asarray(targets * (2 / epsilon), dtype=np.float32)
        self._norms = squared_norms(targets).astype(np.float64) / epsilon
        self._n_rows, self._n_targets = corpus.shape[0], len(targets)
        self._bounds = list(block_bounds(self._n_rows, block_rows))
        self._tile_rows = max(16, TILE_BYTES // (4 * self._n_targets))
        # Only whole blocks are kept.
        self._kept_blocks = memory_bytes // (4 * block_rows * self._n_targets)
        self._blocks: list[Float32] = []
        self._buffer = np.empty((0, self._n_targets), dtype=np.float32)
        self._reference = np.full(self._n_targets, np.nan)  # none yet: the first pass absorbs
        self._shift = np.zeros(self._n_rows, dtype=np.float32)
        self._row_norms = np.zeros(self._n_rows, dtype=np.float64)

    def marginals(self, theta: Float64, weights: Float64) -> Marginals:
        """Σ_n γ_nc of the plan with column potentials θ and row marginal `weights`."""
        if not np.ptp(theta - self._reference) <= LARGEST_SHIFT:
            self._absorb(theta)
        # A constant added to θ does not change the plan, so it need not use up range.
        offset = float((theta - self._reference).mean())
        v = np.exp(theta - self._reference - offset)
        v32, w32 = v.astype(np.float32), weights.astype(np.float32)
        sums = np.empty(self._n_rows, dtype=np.float32)
        received = np.zeros(self._n_targets)
        for start, block in self._kernel_blocks():
            for low, high in block_bounds(len(block), self._tile_rows):
                tile, rows = block[low:high], slice(start + low, start + high)
                np.dot(tile, v32, out=sums[rows])
                received += (w32[rows] / sums[rows]) @ tile
        log_sums = np.log(sums.astype(np.float64)) + (self._shift + offset) - self._row_norms
        return Marginals(np.maximum(received * v, SMALLEST_MASS), log_sums)

    def _absorb(self, theta: Float64) -> None:
        """Make θ the reference: new shifts, and new blocks to keep."""
        self._reference = theta.copy()
        self._blocks = []
        for number, (start, stop) in enumerate(self._bounds):
            exponents, rows = self._exponents(start, stop)
            self._row_norms[start:stop] = squared_norms(rows).astype(np.float64) / self.epsilon
            self._shift[start:stop] = exponents.max(axis=1)
            if not np.isfinite(self._shift[start:stop]).all():
                bad = start + int(np.argmin(np.isfinite(self._shift[start:stop])))
                raise TransportError(
                    f"corpus row {bad} can reach no target: its features are not finite, or the "
                    "prior coupling is 0 for all of them. Fix: give every row some target."
                )
            if number < self._kept_blocks:
                kept = exponents.copy()
                self._blocks.append(self._exponentiated(kept, start, stop))

    def _kernel_blocks(self) -> Iterator[tuple[int, Float32]]:
        for number, (start, stop) in enumerate(self._bounds):
            if number < len(self._blocks):
                yield start, self._blocks[number]
            else:
                exponents, _ = self._exponents(start, stop)
                yield start, self._exponentiated(exponents, start, stop)

    def _exponents(self, start: int, stop: int) -> tuple[Float32, Float32]:
        """θ°_c − C_nc/ε + ‖x_n‖²/ε + log a_nc in the shared buffer, and the rows themselves."""
        if len(self._buffer) < stop - start:
            self._buffer = np.empty((stop - start, self._n_targets), dtype=np.float32)
        rows, buffer = self._corpus.read(start, stop), self._buffer[: stop - start]
        np.matmul(rows, self._scaled.T, out=buffer)
        buffer += (self._reference - self._norms).astype(np.float32)
        if self._prior is not None:
            with np.errstate(divide="ignore"):
                buffer += np.log(self._prior(start, stop), dtype=np.float32)
        return buffer, rows

    def _exponentiated(self, exponents: Float32, start: int, stop: int) -> Float32:
        for low, high in block_bounds(stop - start, self._tile_rows):
            tile = exponents[low:high]
            tile -= self._shift[start + low : start + high, None]
            np.exp(tile, out=tile)
        return exponents
