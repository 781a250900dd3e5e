"""Time of greedy facility location and of its refinement, against plain NumPy greedy.

    PYTHONPATH=src python benchmarks/facility.py [--rows 120000 --candidates 5000 --budget 120]

Synthetic unit vectors in clusters, d = 384. Plain greedy holds the N × M costs in memory and
takes the gain of every candidate at every step; it is run at the largest size that fits
`--plain-bytes` for a few steps, and scaled: its steps cost the same, and grow with N × M.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from take.rows.arrays import Float32, Float64
from take.rows.blocks import ArrayBlocks
from take.selection.facility import greedy_path
from take.selection.facility_costs import FacilityCosts
from take.selection.facility_swaps import SwapSearch
from take.selection.selection_settings import SelectionSettings
from take.transport.costs import squared_distances

D, CLUSTERS = 384, 400
PLAIN_STEPS = 3


def unit_rows(n_rows: int, seed: int) -> Float32:
    centres = np.random.default_rng(0).standard_normal((CLUSTERS, D), dtype=np.float32)
    sizes = np.random.default_rng(1).dirichlet(np.full(CLUSTERS, 0.5))
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n_rows, D), dtype=np.float32)
    rows += 0.8 * centres[rng.choice(CLUSTERS, size=n_rows, p=sizes)]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def plain_greedy(rows: Float32, weights: Float64, pool: Float32, steps: int) -> tuple[float, float]:
    """Seconds for the costs, and seconds per step."""
    start = time.perf_counter()
    costs = squared_distances(rows, pool)
    made = time.perf_counter()
    nearest, w32 = np.full(len(rows), 4, dtype=np.float32), weights.astype(np.float32)
    for _ in range(steps):
        best = int((w32 @ np.maximum(nearest[:, None] - costs, 0)).argmax())
        nearest = np.minimum(nearest, costs[:, best])
    return made - start, (time.perf_counter() - made) / steps


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=120_000)
    parser.add_argument("--candidates", type=int, default=5_000)
    parser.add_argument("--budget", type=int, default=120)
    parser.add_argument("--plain-bytes", type=int, default=2**30)
    parser.add_argument("--no-refine", action="store_true")
    options = parser.parse_args()
    memory = SelectionSettings().memory_bytes
    print("| N | M | K | one pass s | greedy s | gains looked at | swaps | sweeps | refine s |")
    print("|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    ours = 0.0
    for share in (0.25, 0.5, 1.0):  # growth with N and M, one at a time, then both
        for n_rows, n_pool in (
            (int(options.rows * share), options.candidates),
            (options.rows, int(options.candidates * share)),
        ):
            rows, pool = unit_rows(n_rows, 2), unit_rows(n_pool, 3)
            weights = np.random.default_rng(4).gamma(2.0, 1.0, n_rows)
            weights /= weights.sum()
            start = time.perf_counter()
            with FacilityCosts.of(ArrayBlocks(rows), weights, pool, memory) as costs:
                path = greedy_path(costs, options.budget)
                ours = time.perf_counter() - start
                start, taken = time.perf_counter(), (costs.column(int(path.rows[0])),)
                costs.total("saved", taken, np.arange(n_pool))
                one_pass = time.perf_counter() - start
                search = SwapSearch(costs, path.rows)
                start = time.perf_counter()
                if not options.no_refine:
                    search.run()
                refine = time.perf_counter() - start
            looked = path.computed_gains / (n_pool * max(1, options.budget - 2))
            print(
                f"| {n_rows:,} | {n_pool:,} | {options.budget} | {one_pass:.2f} | {ours:.2f} "
                f"| {looked:.1%} | {search.swaps} | {search.sweeps} | {refine:.2f} |",
                flush=True,
            )
            if share == 1.0:
                break
    # The temporaries of plain greedy take as much again, twice.
    held = min(options.rows, options.plain_bytes // (12 * options.candidates))
    made, step = plain_greedy(rows[:held], weights[:held], pool, PLAIN_STEPS)
    plain = (made + step * options.budget) * options.rows / held
    gflop = 2e-9 * options.rows * options.candidates * D
    print(
        f"\nplain NumPy greedy, {held:,} × {options.candidates:,}: {made:.2f} s for the costs, "
        f"{step:.2f} s a step; scaled to {options.rows:,} rows and {options.budget} steps "
        f"{plain:.0f} s: ours is {plain / ours:.1f} x faster. "
        f"One pass reaches {gflop / one_pass:.0f} GFLOP/s."
    )


if __name__ == "__main__":
    main()
