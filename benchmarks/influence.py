"""Time and memory of the influence matrix, against the bare product and per-sample gradients.

    PYTHONPATH=src python benchmarks/influence.py [--rows 393000]

Synthetic vectors of MNLI's shape: d = 1,536, C = 3, T = 20. All on the same arrays, in one run.
The rows lie on disk and are read through a memory map, as in the pipeline. The peak is memory
private to the process (RssAnon): the pages of the map are the input, and the kernel may drop them.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from take.rows.arrays import Float32, Int64
from take.rows.blocks import ArrayBlocks
from take.scoring.influence import influence_matrix
from take.scoring.scoring_inputs import ScoringSettings

D, C, T = 1536, 3, 20
GROWTH = (10_000, 30_000, 100_000, 200_000)
SLICE_ROWS = 2_000
CHUNK_ROWS = (256, 1024, 2000)  # rows that autograd takes at once; the fastest counts
REPEATS = 3
BLOCK_ROWS: int = ScoringSettings().block_rows


def best_seconds(run: Callable[[], object], repeats: int = REPEATS) -> float:
    """Shortest of several runs: other work on the machine only ever adds time."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def private_megabytes() -> float:
    """Memory that belongs to this process alone, without mapped files (Linux)."""
    status = Path("/proc/self/status").read_text()
    return int(next(x for x in status.splitlines() if x.startswith("RssAnon")).split()[1]) / 1024


def unit_rows(path: Path, n_rows: int) -> None:
    """Random rows of unit norm, written block by block to a memory-mapped file."""
    rng = np.random.default_rng(0)
    rows = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n_rows, D))
    for start in range(0, n_rows, 10_000):
        block = rng.standard_normal((min(10_000, n_rows - start), D), dtype=np.float32)
        rows[start : start + len(block)] = block / np.linalg.norm(block, axis=1, keepdims=True)


def bare_product(rows: Float32, stacked: Float32) -> Float32:
    """X · [W_0 … W_{T−1}]ᵀ in one call, with its (N, T·C) result."""
    return rows @ stacked


def blocked_product(rows: Float32, stacked: Float32) -> None:
    """Multiply in the blocks of the influence matrix, and keep nothing."""
    for start in range(0, len(rows), BLOCK_ROWS):
        rows[start : start + BLOCK_ROWS] @ stacked


def per_sample_gradients(
    rows: Float32, labels: Int64, weights: Float32, chunk_rows: int
) -> Float32:
    """Norms by autograd: vmap(grad) over the rows, one checkpoint at a time."""
    import torch
    from torch.func import grad, vmap

    def loss(
        head: tuple[torch.Tensor, torch.Tensor], x: torch.Tensor, y: torch.Tensor
    ) -> torch.Tensor:
        return torch.nn.functional.cross_entropy(x @ head[0].T + head[1], y)

    per_row = vmap(grad(loss), in_dims=(None, 0, 0))
    x, y = torch.from_numpy(rows), torch.from_numpy(labels)
    norms = np.empty((len(rows), T), dtype=np.float32)
    for t in range(T):
        for start in range(0, len(rows), chunk_rows):
            part = slice(start, start + chunk_rows)
            head = (torch.from_numpy(weights[t]), torch.zeros(C))
            gradient_w, gradient_b = per_row(head, x[part], y[part])
            squares = gradient_w.pow(2).sum((1, 2)) + gradient_b.pow(2).sum(1)
            norms[part, t] = squares.sqrt().numpy()
    return norms


def influence(rows: Float32) -> Float32:
    weights, labels = probe_and_labels(len(rows))
    biases = np.zeros((T, C), dtype=np.float32)
    return influence_matrix(ArrayBlocks(rows), labels, weights, biases, BLOCK_ROWS)


def probe_and_labels(n_rows: int) -> tuple[Float32, Int64]:
    rng = np.random.default_rng(1)
    weights = rng.standard_normal((T, C, D), dtype=np.float32) * 3
    return weights, rng.integers(0, C, size=n_rows)


def peak_over_input(path: Path, n_rows: int) -> float:
    """Peak private memory in MB of the influence matrix, above what was there before it.

    Called in a fresh process, as memory freed by earlier runs would be reused and not counted.
    """
    rows = np.load(path, mmap_mode="r")[:n_rows]
    rows[:1] @ np.ones((D, 2), dtype=np.float32)  # BLAS sets its own buffers up once
    before, peak, done = private_megabytes(), 0.0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.002):
            peak = max(peak, private_megabytes())

    watcher = threading.Thread(target=watch)
    watcher.start()
    result = influence(rows)  # held until its memory has been counted
    peak = max(peak, private_megabytes())
    done.set()
    watcher.join()
    del result
    return peak - before


def growth_table(path: Path, sizes: list[int]) -> float:
    """Print a line for each size; return the seconds of the last."""
    rows = np.load(path, mmap_mode="r")
    weights, _ = probe_and_labels(1)
    stacked = np.ascontiguousarray(weights.reshape(T * C, D).T)
    print(f"d = {D}, C = {C}, T = {T}, blocks of {BLOCK_ROWS} rows; best of {REPEATS}\n")
    print(
        "| N | bare product s | the same in blocks s | influence s | ratio | peak over input MB |"
    )
    print("|---:|---:|---:|---:|---:|---:|")
    ours = 0.0
    for n_rows in sizes:
        part = rows[:n_rows]
        bare = best_seconds(partial(bare_product, part, stacked))
        blocked = best_seconds(partial(blocked_product, part, stacked))
        ours = best_seconds(partial(influence, part))
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as fresh:
            memory = fresh.submit(peak_over_input, path, n_rows).result()
        times = f"{bare:.3f} | {blocked:.3f} | {ours:.3f} | {ours / min(bare, blocked):.2f}"
        print(f"| {n_rows:,} | {times} | {memory:.0f} |", flush=True)
    return ours


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=393_000)
    n_rows: int = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        unit_rows(path, n_rows)
        ours = growth_table(path, [*(n for n in GROWTH if n < n_rows), n_rows])
        rows = np.array(np.load(path, mmap_mode="r")[:SLICE_ROWS])
    weights, labels = probe_and_labels(SLICE_ROWS)
    autograd = per_sample_gradients(rows, labels, weights, SLICE_ROWS)
    error = float(np.abs(autograd - influence(rows)).max())
    seconds = min(
        best_seconds(partial(per_sample_gradients, rows, labels, weights, chunk_rows))
        for chunk_rows in CHUNK_ROWS
    )
    scaled = seconds * n_rows / SLICE_ROWS
    print(
        f"\ntorch.func vmap(grad): {seconds:.2f} s for {SLICE_ROWS:,} rows, {scaled:.0f} s for "
        f"{n_rows:,}: the closed form is {scaled / ours:.0f} x faster, "
        f"largest difference {error:.1e}"
    )


if __name__ == "__main__":
    main()
