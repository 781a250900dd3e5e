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

*Parts.* Parts of rows stay with the workers of the engine, each with its share of the blocks. In a
pass, potentials travel to them and Σ_n E_nc u_n of their rows back, which is added in their order.
A part that is made again, because its worker died, absorbs the reference that comes with the call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil
from typing import NamedTuple

import numpy as np

from take.engine import Held, Part, current
from take.rows.arrays import Float32, Float64
from take.rows.blocks import RowBlocks, block_bounds, part_bounds, squared_norms, window
from take.transport.costs import TransportError
from take.transport.coupling import Coupling

Prior = Callable[[int, int], Float32]
"""`prior(start, stop)`: rows of a = dα / d(μ⊗ν), the density of the prior coupling, ≥ 0."""

BLOCK_ROWS = 1024
MEMORY_BYTES = 256 * 2**20
TILE_BYTES = 2**20  # what stays in a core's cache between the two products
LARGEST_SHIFT = 40.0  # e-folds that v may span before θ is absorbed; fp32 holds 87
SMALLEST_MASS = 1e-30  # of a column that no row reaches in fp32: it rises step by step


@dataclass(frozen=True)
class PriorRange:
    """A prior for consecutive rows, the first of which it calls `first`."""

    prior: Prior
    first: int

    def __call__(self, start: int, stop: int) -> Float32:
        """The density of the rows start … stop-1 of these."""
        return self.prior(self.first + start, self.first + stop)


def prior_range(prior: Prior | None, start: int, stop: int) -> Prior | None:
    """A prior for rows start … stop-1."""
    if isinstance(prior, Coupling):
        return prior.between(start, stop)
    return PriorRange(prior, start) if prior else None


class Targets(NamedTuple):
    """What the rows need of the targets."""

    scaled: Float32  # (M, d) 2 y_c / ε
    norms: Float64  # (M,) ‖y_c‖² / ε


class Potentials(NamedTuple):
    """θ = θ° + log v + a constant."""

    reference: Float64  # (M,) θ°
    v: Float32  # (M,)


class KernelRows(Part):
    """Consecutive rows of e^{−C/ε}."""

    def __init__(
        self,
        rows: RowBlocks,
        weights: Float64,
        prior: Prior | None,
        *,
        first: int,
        epsilon: float,
        kept_blocks: int,
        block_rows: int,
    ) -> None:
        self._rows, self._prior, self._first, self._epsilon = rows, prior, first, epsilon
        self._weights = weights.astype(np.float32)
        self._kept_blocks, self._block_rows = kept_blocks, block_rows
        self._bounds = list(block_bounds(rows.shape[0], block_rows))
        self._absorbed: Float64 | None = None  # the reference of all below
        self._blocks: dict[int, Float32] = {}
        self._shift = np.empty(0, dtype=np.float32)
        self._row_norms = np.empty(0)
        self._sums: tuple[Float32, Float32] | None = None  # for the last v

    def __getstate__(self) -> dict[str, object]:
        """Without what is computed when it is needed."""
        empty: dict[str, object] = {"_absorbed": None, "_blocks": {}, "_sums": None}
        return self.__dict__ | empty | {"_shift": None, "_row_norms": None}

    def received(self, targets: Targets, potentials: Potentials) -> Float64:
        """Σ_n E_nc u_n over these rows, (M,)."""
        sums, v = np.empty(len(self._weights), dtype=np.float32), potentials.v
        received = np.zeros(len(v))
        for start, low, high, tile in self._tiles(targets, potentials.reference):
            rows = slice(start + low, start + high)
            np.dot(tile, v, out=sums[rows])
            received += (self._weights[rows] / sums[rows]) @ tile
        self._sums = (v.copy(), sums)
        return received

    def log_sums(self, targets: Targets, potentials: Potentials) -> Float64:
        """The same as `GibbsKernel.log_sums`, of these rows, with v for e^θ."""
        known = self._is_absorbed(potentials.reference) and self._sums is not None
        if not known or not np.array_equal(self._sums[0], potentials.v):  # type: ignore[index]
            self.received(targets, potentials)
        assert self._sums is not None  # noqa: S101 - of the pass
        logs: Float64 = np.log(self._sums[1].astype(np.float64))
        return logs + self._shift - self._row_norms

    def _is_absorbed(self, reference: Float64) -> bool:
        return self._absorbed is not None and np.array_equal(self._absorbed, reference)

    def _tiles(
        self, targets: Targets, reference: Float64
    ) -> Iterator[tuple[int, int, int, Float32]]:
        """Rows of E that fit a core's cache: where their block starts, their place in it, and E."""
        fresh = not self._is_absorbed(reference)
        if fresh:
            self._absorbed, self._blocks, self._sums = None, {}, None
            self._shift = np.empty(len(self._weights), dtype=np.float32)
            self._row_norms = np.empty(len(self._weights))
        n_targets = len(reference)
        tile_rows = max(16, TILE_BYTES // (4 * n_targets))
        added = (reference - targets.norms).astype(np.float32)
        buffer: Float32 | None = None
        for number, (start, stop) in enumerate(self._bounds):
            block = self._blocks.get(number)
            known = block is not None
            if block is None:
                if buffer is None or number < self._kept_blocks:
                    buffer = np.empty((self._block_rows, n_targets), dtype=np.float32)
                block = self._exponents(start, stop, targets.scaled, added, buffer[: stop - start])
            for low, high in block_bounds(stop - start, tile_rows):
                tile = block[low:high]
                if not known:
                    tile -= self._shift[start + low : start + high, None]
                    np.exp(tile, out=tile)
                yield start, low, high, tile
            if not known and number < self._kept_blocks:
                self._blocks[number], buffer = block, None
        if fresh:
            self._absorbed = reference.copy()

    def _exponents(
        self, start: int, stop: int, scaled: Float32, added: Float32, out: Float32
    ) -> Float32:
        """θ°_c − C_nc/ε + ‖x_n‖²/ε + log a_nc; of a new reference also the shifts."""
        rows = self._rows.read(start, stop)
        np.matmul(rows, scaled.T, out=out)
        out += added
        if self._prior is not None:
            with np.errstate(divide="ignore"):
                out += np.log(self._prior(start, stop), dtype=np.float32)
        if self._absorbed is None:
            self._row_norms[start:stop] = squared_norms(rows).astype(np.float64) / self._epsilon
            self._shift[start:stop] = out.max(axis=1)
            finite = np.isfinite(self._shift[start:stop])
            if not finite.all():
                raise TransportError(
                    f"corpus row {self._first + start + int(np.argmin(finite))} can reach no "
                    "target: its features are not finite, or the prior coupling is 0 for all of "
                    "them. Fix: give every row some target."
                )
        return out


class GibbsKernel:
    """e^{−C/ε} between a weighted corpus read by blocks and targets in memory.

    >>> from take.rows.blocks import ArrayBlocks
    >>> points, weights = np.eye(2, dtype=np.float32), np.array([0.5, 0.5])
    >>> with GibbsKernel.of(ArrayBlocks(points), weights, points, epsilon=2.0) as kernel:
    ...     kernel.received(np.zeros(2)).round(6).tolist()
    [0.5, 0.5]
    """

    def __init__(self, held: Held, targets: Targets) -> None:
        self._held, self._targets = held, held.share(targets)
        self._reference = np.full(len(targets.norms), np.nan)  # none yet: the first pass absorbs

    @classmethod
    @contextmanager
    def of(
        cls,
        corpus: RowBlocks,
        weights: Float64,
        targets: Float32,
        epsilon: float,
        prior: Prior | None = None,
        *,
        memory_bytes: int = MEMORY_BYTES,
        block_rows: int = BLOCK_ROWS,
    ) -> Iterator[GibbsKernel]:
        """Keep the rows with the workers within the block."""
        if not epsilon > 0:
            raise TransportError(f"ε is {epsilon}. Allowed: above 0.")
        engine, bounds = current(), part_bounds(corpus.shape[0], block_rows)
        # Whole blocks are kept: of a process's first parts, as many as its memory holds.
        block_bytes = 4 * block_rows * len(targets)
        left = [memory_bytes // block_bytes] * engine.processes
        kept = []
        for number, (start, stop) in enumerate(bounds):
            process = number % engine.processes
            kept.append(min(left[process], ceil((stop - start) / block_rows)))
            left[process] -= kept[-1]
        parts = [
            KernelRows(
                window(corpus, start, stop),
                weights[start:stop],
                prior_range(prior, start, stop),
                first=start,
                epsilon=epsilon,
                kept_blocks=blocks,
                block_rows=block_rows,
            )
            for (start, stop), blocks in zip(bounds, kept, strict=True)
        ]
        scaled = np.asarray(targets * (2 / epsilon), dtype=np.float32)
        norms = squared_norms(targets).astype(np.float64) / epsilon
        with engine.hold(parts) as held:
            yield cls(held, Targets(scaled, norms))

    def received(self, theta: Float64) -> Float64:
        """Σ_n γ_nc of the plan with column potentials θ, (M,)."""
        if not np.ptp(theta - self._reference) <= LARGEST_SHIFT:
            self._reference = theta.copy()
        v, _ = self._scaling(theta)
        received = np.zeros(len(theta))
        for part in self._call("received", v):
            received += part
        return np.maximum(received * v, SMALLEST_MASS)

    def log_sums(self, theta: Float64) -> Float64:
        """Of each row, log Σ_c a_nc e^{θ_c − C_nc/ε}, (N,), for the θ of the last pass."""
        v, offset = self._scaling(theta)
        return np.concatenate(list(self._call("log_sums", v))) + offset

    def _scaling(self, theta: Float64) -> tuple[Float64, float]:
        """v, and a constant in θ, which does not change the plan and must not use up range."""
        offset = float((theta - self._reference).mean())
        return np.exp(theta - self._reference - offset), offset

    def _call(self, method: str, v: Float64) -> Iterator[Float64]:
        potentials = Potentials(self._reference, v.astype(np.float32))
        return self._held.call(method, self._targets, potentials)
