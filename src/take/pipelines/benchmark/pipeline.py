"""Wiring of `benchmark`."""

from kedro.pipeline import Pipeline, node

from take.pipelines.benchmark.nodes import benchmark_cells, benchmarked


def create_pipeline() -> Pipeline:
    """Every corpus with a pool → cells, tables, plots and the page of results."""
    settings = "params:benchmark"
    return Pipeline(
        [
            node(
                benchmark_cells,
                inputs=[
                    "prepared_corpora",
                    "encoder",
                    "cell_folder",
                    "params:scoring",
                    "params:distillation.selection",
                    "params:learners",
                    settings,
                ],
                outputs="benchmark_cells",
                name="run_benchmark",
            ),
            node(
                benchmarked,
                inputs=["benchmark_cells", "published", settings],
                outputs=[
                    "benchmark_summary",
                    "benchmark_comparisons",
                    "benchmark_report",
                    "benchmark_table",
                    "benchmark_page",
                    "benchmark_scores_plot",
                    "benchmark_margins_plot",
                    "benchmark_budget_plot",
                ],
                name="summarise_benchmark",
            ),
        ],
        tags="benchmark",
    )
