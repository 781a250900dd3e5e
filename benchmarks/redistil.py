"""Distilling a corpus again after it has grown by a tenth, against distilling it anew.

    python benchmarks/redistil.py sst2 --budget 20/class [--seeds 3] [--selectors exam facility]

Reads what `kedro run` made of the corpus. A tenth of the train rows, drawn by seed, is left out for
the first distillation and then comes in; the pool stays. Time is that of selection. The objective
is what each selector lowers: for `facility` the transport cost, for `exam` the loss on train rows
that neither search has seen, with λ and τ fitted to each set of rows by itself.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

import numpy as np
from selection import Made, load
from take.selection.exam.panel import calibrate, make_viewer
from take.selection.exam.sitting import Asked, Pool, mark

from take.corpus.budget import Budget
from take.rows.arrays import Int64
from take.rows.blocks import block_bounds, rows_at
from take.rows.labelled import LabelledRows, class_ids, class_sizes, text_columns
from take.selection.exam.objective import label_codes
from take.selection.problem import SelectionProblem
from take.selection.selection_settings import SelectionSettings
from take.selection.selectors import selector

GROWTH = 0.1
MARKED_ROWS = 3000


def problem(made: Made, rows: Int64, budget: Budget, marked: Int64) -> SelectionProblem:
    corpus = made.corpus.iloc[rows]
    phi = rows_at(made.embeddings, rows)
    pool = made.pool_embeddings
    weights = made.weights[rows]
    allowed = np.setdiff1d(made.unseen, marked)
    return SelectionProblem(
        LabelledRows(phi, text_columns(corpus), class_ids(corpus)),
        weights / weights.sum(),
        LabelledRows(pool, pool, text_columns(made.pool), class_ids(made.pool)),
        budget.split(class_sizes(made.corpus)),
        np.flatnonzero(np.isin(rows, allowed)),
    )


def transport_cost(task: SelectionProblem, rows: Int64) -> float:
    labels, total = task.pool.labels[rows], 0.0
    chosen = task.pool_features[rows]
    for start, stop in block_bounds(len(task.corpus)):
        block = task.corpus.features.read(start, stop)
        costs = 2 - 2 * block @ chosen.T
        costs[task.corpus.labels[start:stop, None] != labels] = np.inf
        total += float(task.weights[start:stop] @ costs.min(axis=1))
    return total


def exam_loss(
    made: Made, task: SelectionProblem, rows: Int64, marked: Int64, settings: SelectionSettings
) -> float:
    table = made.corpus.iloc[marked]
    view = make_viewer(task.corpus.texts, np.zeros(made.embeddings.shape[1], dtype=np.float32))
    views = view(rows_at(made.embeddings, marked).read(0, len(marked)), text_columns(table))
    n_classes = len(task.budgets)
    weights = made.weights[marked] / made.weights[marked].sum()
    asked = Asked(views, class_ids(table), weights)
    pool = Pool(view(task.pool_features, task.pool.texts), task.pool.labels, n_classes)
    codes = label_codes(asked.labels, n_classes)
    panel = [
        calibrate(
            name,
            settings.exam.ridge_grid,
            pool.views.take(rows),
            pool.labels[rows],
            views,
            codes,
            weights,
        )
        for name in settings.exam.members
    ]
    return mark(panel, pool, rows, asked).loss


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("corpus")
    parser.add_argument("--budget", default="20/class")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--selectors", nargs="+", default=["exam", "facility"])
    asked = parser.parse_args()
    made, budget = load(asked.corpus), Budget.parse(asked.budget)
    everything = np.arange(len(made.corpus))
    print(f"{asked.corpus}, {asked.budget}: {len(everything):,} rows after the growth\n")
    print(
        "| selector | seed | rows kept | objective: anew | again | ratio | s anew | again | ratio |"
    )
    print("|---" * 9 + "|")
    for name in asked.selectors:
        for seed in range(asked.seeds):
            rng = np.random.default_rng([seed, 5])
            marked = np.sort(rng.permutation(made.unseen)[:MARKED_ROWS])
            old = np.sort(rng.permutation(everything)[: int(len(everything) / (1 + GROWTH))])
            settings = SelectionSettings(selector=name, seed=seed)
            choose = selector(name)
            before = choose(problem(made, old, budget, marked), settings).rows
            task = problem(made, everything, budget, marked)
            found, seconds = [], []
            for previous in (None, before):
                start = time.perf_counter()
                found.append(choose(replace(task, previous=previous), settings).rows)
                seconds.append(time.perf_counter() - start)
            values = [
                exam_loss(made, task, rows, marked, settings)
                if name == "exam"
                else transport_cost(task, rows)
                for rows in found
            ]
            kept = np.isin(before, found[1]).mean()
            print(
                f"| {name} | {seed} | {kept:.0%} | {values[0]:.4f} | {values[1]:.4f} "
                f"| {values[1] / values[0]:.4f} | {seconds[0]:.1f} | {seconds[1]:.1f} "
                f"| {seconds[1] / seconds[0]:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
