"""What the budget curve adds to a run at one budget only.

    python benchmarks/budget_curve.py sst2 --budget 20/class

Reads what `kedro run` made of the corpus. One budget: selection with greedy ending at the budget.
With the curve: selection with greedy going on to twice the budget, and the curve along its path
(cost, coverage with p95, exact W₁ at six budgets). Best of three; POT is imported beforehand.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from redistil import problem
from selection import load

from take.corpus.budget import Budget
from take.selection.describe.curve import CurveOptions, budget_curve
from take.selection.describe.distillation import Distillation
from take.selection.selection_settings import SelectionSettings
from take.selection.selectors import selector
from take.transport.exact import wasserstein

REPEATS = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("corpus")
    parser.add_argument("--budget", default="20/class")
    parser.add_argument("--selectors", nargs="+", default=["exam", "facility"])
    options = parser.parse_args()
    made = load(options.corpus)
    everything, none = np.arange(len(made.corpus)), np.empty(0, dtype=np.int64)
    task = problem(made, everything, Budget.parse(options.budget), none)
    point = np.ones((1, 1), dtype=np.float32)
    wasserstein(point, np.ones(1), point, np.ones(1))
    print("| selector | one budget, s | with the curve, s | ratio |\n|---|---|---|---|")
    for name in options.selectors:
        seconds: dict[float, list[float]] = {1.0: [], 2.0: []}
        for _ in range(REPEATS):
            for factor, times in seconds.items():
                start = time.perf_counter()
                settings = SelectionSettings(selector=name, path_factor=factor)
                found = selector(name)(task, settings)
                if factor > 1:
                    distilled = Distillation(
                        made.embeddings,
                        task.weights,
                        task.corpus.labels,
                        task.pool_features,
                        task.pool.labels,
                        found.rows,
                    )
                    largest = min(map(len, found.paths))
                    budget_curve(distilled, CurveOptions(largest=largest), found.paths)
                times.append(time.perf_counter() - start)
        alone, curve = (min(times) for times in seconds.values())
        print(f"| {name} | {alone:.2f} | {curve:.2f} | {curve / alone:.2f} |", flush=True)


if __name__ == "__main__":
    main()
