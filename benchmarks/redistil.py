"""Distilling a corpus again after it has grown by a tenth, or distilling it from the beginning.

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

from take.corpus.budget import Budget
from take.rows.arrays import Int64
from take.rows.blocks import block_bounds, rows_at
from take.rows.labelled import LabelledRows, class_ids, class_sizes, text_columns
from take.selection.exam.surrogates import Pool, ScoredRows, calibrate, score
from take.selection.exam.views import fitted_tfidf, make_viewer
from take.selection.problem import SelectionProblem
from take.selection.selection_settings import SelectionSettings
from take.selection.selectors import selector

GROWTH = 0.1
TEST_ROWS = 3000


def problem(made: Made, rows: Int64, budget: Budget, test: Int64) -> SelectionProblem:
    corpus = made.corpus.iloc[rows]
    weights = made.weights[rows]
    allowed = np.setdiff1d(made.unseen, test)
    return SelectionProblem(
        LabelledRows.of(corpus, rows_at(made.embeddings, rows)),
        weights / weights.sum(),
        LabelledRows.of(made.pool, made.pool_embeddings),
        budget.split(class_sizes(made.corpus)),
        np.flatnonzero(np.isin(rows, allowed)),
    )


def transport_cost(task: SelectionProblem, rows: Int64) -> float:
    labels, total = task.pool.labels[rows], 0.0
    chosen = task.pool_features[rows]
    for start, stop in block_bounds(len(task.corpus)):
        block = task.corpus.phi.read(start, stop)
        costs = 2 - 2 * block @ chosen.T
        costs[task.corpus.labels[start:stop, None] != labels] = np.inf
        total += float(task.weights[start:stop] @ costs.min(axis=1))
    return total


def exam_loss(
    made: Made, task: SelectionProblem, rows: Int64, test: Int64, settings: SelectionSettings
) -> float:
    table = made.corpus.iloc[test]
    view = make_viewer(
        fitted_tfidf(task.corpus.texts), np.zeros(made.embeddings.shape[1], dtype=np.float32)
    )
    views = view(rows_at(made.embeddings, test).read(0, len(test)), text_columns(table))
    n_classes = len(task.budgets)
    weights = made.weights[test] / made.weights[test].sum()
    scored = ScoredRows(views, class_ids(table), weights)
    pool = Pool(view(task.pool_features, task.pool.texts), task.pool.labels, n_classes)
    training, labels = pool.views.take(rows), pool.labels[rows]
    surrogates = [
        calibrate(name, settings.exam.ridge_grid, training, labels, scored, n_classes)
        for name in settings.exam.surrogates
    ]
    return score(surrogates, pool, rows, scored).loss


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("corpus")
    parser.add_argument("--budget", default="20/class")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--selectors", nargs="+", default=["exam", "facility"])
    options = parser.parse_args()
    made, budget = load(options.corpus), Budget.parse(options.budget)
    everything = np.arange(len(made.corpus))
    print(f"{options.corpus}, {options.budget}: {len(everything):,} rows after the growth\n")
    print(
        "| selector | seed | rows kept | objective: from the beginning | again | ratio "
        "| s from the beginning | again | ratio |"
    )
    print("|---" * 9 + "|")
    for name in options.selectors:
        for seed in range(options.seeds):
            rng = np.random.default_rng([seed, 5])
            test = np.sort(rng.permutation(made.unseen)[:TEST_ROWS])
            old = np.sort(rng.permutation(everything)[: int(len(everything) / (1 + GROWTH))])
            settings = SelectionSettings(selector=name, seed=seed)
            choose = selector(name)
            before = choose(problem(made, old, budget, test), settings).rows
            task = problem(made, everything, budget, test)
            found, seconds = [], []
            for previous in (None, before):
                start = time.perf_counter()
                found.append(choose(replace(task, previous=previous), settings).rows)
                seconds.append(time.perf_counter() - start)
            values = [
                exam_loss(made, task, rows, test, settings)
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
