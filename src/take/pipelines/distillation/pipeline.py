"""Wiring of `distillation`."""

from kedro.pipeline import Pipeline, node

from take.pipelines.distillation.nodes import (
    chosen_rows,
    description,
    search_plot,
    traced_rows,
)

_SELECTION, _DESCRIPTION = "params:distillation.selection", "params:distillation.description"
_WEIGHTED_CORPUS = ["corpus", "embeddings", "weights"]
_POOL = ["pool", "pool_embeddings"]


def create_pipeline() -> Pipeline:
    """weights, pool → distilled rows, lineage, budget curve, indicators."""
    return _pipeline()


def create_redistil_pipeline() -> Pipeline:
    """The same, beginning from the rows distilled before."""
    return _pipeline("previous_distilled", "evaluation_split")


def _pipeline(*previous: str) -> Pipeline:
    return Pipeline(
        [
            node(
                chosen_rows,
                inputs=[
                    *_WEIGHTED_CORPUS,
                    "trajectory",
                    *_POOL,
                    "generator_rows",
                    "search_folder",
                    "params:distillation.budget",
                    _SELECTION,
                    *previous,
                ],
                outputs=["selection", "selection_report", "greedy_path"],
                name="reselect_rows" if previous else "select_rows",
            ),
            node(
                traced_rows,
                inputs=["selection", *_POOL, *_WEIGHTED_CORPUS, _SELECTION, _DESCRIPTION],
                outputs=["trace", "distilled", "lineage", "lineage_totals", "assignments"],
                name="trace_rows",
            ),
            node(
                description,
                inputs=[
                    "distilled",
                    "trace",
                    "selection",
                    "selection_report",
                    "greedy_path",
                    *_POOL,
                    *_WEIGHTED_CORPUS,
                    _SELECTION,
                    _DESCRIPTION,
                ],
                outputs=[
                    "distillation_report",
                    "budget_curve",
                    "least_covered",
                    "transport_map",
                    "coverage_plot",
                    "budget_plot",
                ],
                name="describe_distilled",
            ),
            node(
                search_plot,
                inputs="selection_report",
                outputs="search_plot",
                name="plot_search",
            ),
        ],
        tags="distillation",
    )
