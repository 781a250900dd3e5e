"""Coverage and width of intervals over training sets of two pools: a table of docs/evaluation.md.

    python benchmarks/pool_coverage.py

Scores are normal, with a standard deviation of 1 among the sets of a pool. The same scores are
judged once with their pools, and once as if all sets were independent.
"""

from __future__ import annotations

import argparse

import numpy as np

from take.evaluation.statistics import CONFIDENCE, half_width, parts_of_sets
from take.rows.random import rng

SIZES = (2, 3, 5)
VARIANCES = (0, 1, 4)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--trials", type=int, default=20_000)
    trials = parser.parse_args().trials
    print(
        "| 2 pools of … sets | variance of pools / of sets | covered |"
        " sets taken as independent | width, times the latter (median) |\n|---|---|---|---|---|"
    )
    for size in SIZES:
        pools = (0, 1) * size
        for variance in VARIANCES:
            random = rng(0, "coverage", size, variance)
            scores = np.sqrt(variance) * random.normal(size=(trials, 2))[:, list(pools)]
            scores += random.normal(size=scores.shape)
            lead = np.abs(scores.mean(axis=1))
            reach, alone = (
                np.array([half_width(parts_of_sets(one, by), 1 - CONFIDENCE) for one in scores])
                for by in (pools, None)
            )
            covered, independent = (f"{(lead <= one).mean():.1%}" for one in (reach, alone))
            width = np.median(reach) / np.median(alone)
            cells = (size, variance, covered, independent, f"{width:.1f}")
            print("| " + " | ".join(map(str, cells)).replace("%", " %") + " |")


if __name__ == "__main__":
    main()
