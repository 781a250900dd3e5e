"""Wiring of `benchmark`."""

from kedro.pipeline import Pipeline

from take.pipelines import stage, step
from take.pipelines.benchmark.nodes import run_benchmark, summarise_benchmark

_SETTINGS = "params:benchmark"


def create_pipeline() -> Pipeline:
    """Every corpus with a pool → cells, tables, plots and the page of results."""
    return stage(
        "benchmark",
        [
            step(
                run_benchmark,
                [
                    "prepared_corpora",
                    "encoder",
                    "cell_folder",
                    "params:scoring",
                    "params:distillation.selection",
                    "params:learners",
                    _SETTINGS,
                ],
                "benchmark_cells",
            ),
            step(
                summarise_benchmark,
                ["benchmark_cells", "published", _SETTINGS],
                [
                    "summary",
                    "comparisons",
                    "report",
                    "table",
                    "page",
                    "scores_plot",
                    "margins_plot",
                    "budget_plot",
                ],
            ),
        ],
        exposed=["benchmark_cells"],
    )
