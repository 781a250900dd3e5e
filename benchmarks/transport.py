"""Time and memory of entropic transport, class by class, against POT's dense fp64 `ot.sinkhorn`.

    PYTHONPATH=src python benchmarks/transport.py [--rows 120000 --candidates 5000 --classes 4]

Synthetic unit vectors, d = 384, ε = 0.05, 200 iterations. Three of ours: 200 plain iterations with
kernel blocks kept up to the cap, the same with none kept, and the default, which accelerates and
stops at a marginal error of 1e-5. POT is run on one class at the largest size that fits
`--pot-bytes`, and scaled by N × M. Each in a fresh process; the peak is private memory above what
was there before, so the input is not counted.
"""

from __future__ import annotations

import argparse
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np

from take.rows.arrays import Float32, Float64
from take.rows.blocks import ArrayBlocks
from take.transport.kernel import MEMORY_BYTES
from take.transport.sinkhorn import SinkhornOptions, entropic_plan

D, EPSILON, ITERATIONS = 384, 0.05, 200
POT_BYTES_PER_ENTRY = 32  # costs, kernel, its scaled copy and a temporary, in fp64


class Measured(NamedTuple):
    """One solver on one class."""

    seconds: float
    peak_megabytes: float
    marginal_error: float
    iterations: int


def unit_rows(n_rows: int, seed: int) -> Float32:
    centres = np.random.default_rng(0).standard_normal((100, D), dtype=np.float32)
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n_rows, D), dtype=np.float32)
    rows += 0.7 * centres[rng.integers(0, 100, n_rows)]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def private_megabytes() -> float:
    """Memory that belongs to this process alone, without mapped files (Linux)."""
    status = Path("/proc/self/status").read_text()
    return int(next(x for x in status.splitlines() if x.startswith("RssAnon")).split()[1]) / 1024


def measure(kind: str, n_rows: int, n_targets: int) -> Measured:
    """One class: `pot`, `kept`, `streamed` or `default`."""
    rows, targets = unit_rows(n_rows, 1), unit_rows(n_targets, 2)
    weights = np.random.default_rng(3).gamma(2.0, 1.0, n_rows)
    weights /= weights.sum()
    rows[:1] @ targets[:2].T  # BLAS sets its own buffers up once
    if kind == "pot":
        import ot  # type: ignore[import-not-found,unused-ignore]  # noqa: F401
    before, peak, done = private_megabytes(), 0.0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.005):
            peak = max(peak, private_megabytes())

    watcher = threading.Thread(target=watch)
    watcher.start()
    start = time.perf_counter()
    error, iterations = (
        run_pot(rows, weights, targets) if kind == "pot" else run_ours(kind, rows, weights, targets)
    )
    seconds = time.perf_counter() - start
    done.set()
    watcher.join()
    return Measured(seconds, peak - before, error, iterations)


def run_pot(rows: Float32, weights: Float64, targets: Float32) -> tuple[float, int]:
    import ot  # type: ignore[import-not-found,unused-ignore]

    uniform = np.full(len(targets), 1 / len(targets))
    costs = ot.dist(rows.astype(np.float64), targets.astype(np.float64))
    plan = ot.sinkhorn(
        weights, uniform, costs, EPSILON, numItermax=ITERATIONS, stopThr=0.0, warn=False
    )
    return float(np.abs(plan.sum(axis=0) - uniform).sum()), ITERATIONS


def run_ours(kind: str, rows: Float32, weights: Float64, targets: Float32) -> tuple[float, int]:
    plain = SinkhornOptions(
        tolerance=0.0,
        max_iterations=ITERATIONS,
        memory=0,
        raise_unless_converged=False,
        memory_bytes=MEMORY_BYTES if kind == "kept" else 0,
    )
    options = SinkhornOptions() if kind == "default" else plain
    plan = entropic_plan(ArrayBlocks(rows), weights, targets, epsilon=EPSILON, options=options)
    return plan.marginal_error, plan.iterations


def fresh(kind: str, n_rows: int, n_targets: int) -> Measured:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(measure, kind, n_rows, n_targets).result()


def gemm_rate(n_rows: int = 4096, n_targets: int = 1250) -> float:
    """GFLOP/s of the bare product."""
    rows, targets = unit_rows(n_rows, 1), unit_rows(n_targets, 2)
    out = np.empty((n_rows, n_targets), dtype=np.float32)
    times = []
    for _ in range(3):
        start = time.perf_counter()
        np.matmul(rows, targets.T, out=out)
        times.append(time.perf_counter() - start)
    return 2e-9 * n_rows * n_targets * D / min(times)


def read_rate(megabytes: int = 256) -> float:
    """GB/s of a sum over memory."""
    block = np.ones(megabytes * 2**18, dtype=np.float32)
    vector = np.ones(1024, dtype=np.float32)
    times = []
    for _ in range(3):
        start = time.perf_counter()
        block.reshape(-1, 1024) @ vector
        times.append(time.perf_counter() - start)
    return block.nbytes / 1e9 / min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=120_000)
    parser.add_argument("--candidates", type=int, default=5_000)
    parser.add_argument("--classes", type=int, default=4)
    parser.add_argument("--pot-bytes", type=int, default=2 * 2**30)
    parser.add_argument("--kinds", nargs="+", default=["kept", "streamed", "default"])
    options = parser.parse_args()
    n_rows, n_targets = options.rows // options.classes, options.candidates // options.classes
    print(f"one class of {options.classes}; d = {D}, ε = {EPSILON}\n")
    print("| solver | N | M | iterations | s | peak MB | marginal error |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    found: dict[str, Measured] = {}
    sizes = [(n_rows // 4, n_targets), (n_rows, n_targets // 4), (n_rows, n_targets)]
    for kind in options.kinds:
        for rows, targets in sizes:
            found[kind] = one = fresh(kind, rows, targets)
            line = f"| {one.iterations} | {one.seconds:.2f} | {one.peak_megabytes:.0f} "
            print(
                f"| {kind} | {rows:,} | {targets:,} {line}| {one.marginal_error:.1e} |", flush=True
            )
    held = min(n_rows, options.pot_bytes // (POT_BYTES_PER_ENTRY * n_targets))
    pot, scale = fresh("pot", held, n_targets), n_rows / held
    line = f"| {pot.iterations} | {pot.seconds:.2f} | {pot.peak_megabytes:.0f} "
    print(f"| POT | {held:,} | {n_targets:,} {line}| {pot.marginal_error:.1e} |\n")
    for kind, one in found.items():
        print(
            f"{kind}: {pot.seconds * scale / one.seconds:.1f} x faster than POT, "
            f"{one.peak_megabytes / (pot.peak_megabytes * scale):.2f} of its memory"
        )
    entries = n_rows * n_targets
    if "streamed" in found:
        rate = 2e-9 * entries * D * found["streamed"].iterations / found["streamed"].seconds
        print(f"streamed: {rate / gemm_rate():.0%} of the bare product's rate")
    if "kept" in found:
        rate = 4e-9 * entries * found["kept"].iterations / found["kept"].seconds
        print(f"kept: kernel read at {rate / read_rate():.0%} of the rate of a plain sum")


if __name__ == "__main__":
    main()
