"""Wiring of `evaluation` (the corpus at hand) and `benchmark` (every prepared corpus)."""

from typing import Literal

from kedro.pipeline import Pipeline

from take.pipelines import stage, step
from take.pipelines.evaluation.nodes import (
    evaluate_distilled,
    plot_budgets,
    run_benchmark,
    summarise_cells,
)

_SHARED = [
    "encoder",
    "cell_folder",
    "params:scoring",
    "params:distillation.selection",
    "params:audit.copies",
    "params:learners",
]
_PREPARED = [
    "corpus",
    "evaluation_split",
    "embeddings",
    "weights",
    "trajectory",
    "influence",
    "scoring_study",
    "pool",
    "ledger",
    "pool_embeddings",
    "generator_rows",
    "distilled",
]


def create_pipeline(namespace: Literal["evaluation", "benchmark"] = "evaluation") -> Pipeline:
    """Training sets and evaluation split → cells and outcomes, tables, plots."""
    settings = f"params:{namespace}"
    evaluated = [f"{namespace}_cells", f"{namespace}_outcomes"]
    if namespace == "evaluation":
        inputs = [*_PREPARED, *_SHARED, "params:distillation.budget", settings]
        nodes = [step(evaluate_distilled, inputs, evaluated)]
    else:
        inputs = ["prepared_corpora", *_SHARED, settings]
        nodes = [
            step(run_benchmark, inputs, evaluated),
            step(plot_budgets, ["summary"], "budget_plot"),
        ]
    outputs = ["summary", "comparisons", "report", "table", "scores_plot", "margins_plot"]
    nodes.append(step(summarise_cells, evaluated, outputs))
    return stage(namespace, nodes, exposed=evaluated)
