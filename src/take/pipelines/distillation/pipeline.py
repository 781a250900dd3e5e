"""Wiring of `distillation`."""

from kedro.pipeline import Pipeline

from take.pipelines import stage, step
from take.pipelines.distillation.nodes import (
    describe_distilled,
    plot_search,
    screen_candidates,
    select_rows,
    trace_rows,
)

_SELECTION, _DESCRIPTION = "params:distillation.selection", "params:distillation.description"
_WEIGHTED_CORPUS = ["corpus", "embeddings", "weights"]
_POOL = ["pool", "pool_embeddings"]


def create_pipeline() -> Pipeline:
    """weights, pool → distilled rows, lineage, budget curve, indicators."""
    return _pipeline()


def create_redistil_pipeline() -> Pipeline:
    """The same, starting from the previous distilled rows."""
    return _pipeline("previous_distilled")


def _pipeline(*previous: str) -> Pipeline:
    return stage(
        "distillation",
        [
            step(
                screen_candidates,
                ["pool", "corpus", "evaluation_split", "params:audit.copies", "params:audit.pii"],
                "objections",
            ),
            step(
                select_rows,
                [
                    *_WEIGHTED_CORPUS,
                    *_POOL,
                    "generator_rows",
                    "objections",
                    "search_folder",
                    "params:distillation.budget",
                    _SELECTION,
                    "params:audit.copies",
                    *previous,
                ],
                ["selection", "selection_report", "greedy_path", "excluded"],
            ),
            step(
                trace_rows,
                ["selection", *_POOL, *_WEIGHTED_CORPUS, _SELECTION, _DESCRIPTION],
                ["trace", "distilled", "lineage", "lineage_totals", "assignments"],
            ),
            step(
                describe_distilled,
                [
                    "distilled",
                    "trace",
                    "selection_report",
                    "greedy_path",
                    *_POOL,
                    *_WEIGHTED_CORPUS,
                    _SELECTION,
                    _DESCRIPTION,
                ],
                [
                    "distillation_report",
                    "budget_curve",
                    "least_covered",
                    "map_coordinates",
                    "transport_plot",
                    "coverage_plot",
                    "budget_plot",
                ],
            ),
            step(plot_search, ["selection_report"], "search_plot"),
        ],
        exposed=[
            "selection_report",
            "distilled",
            "lineage",
            "lineage_totals",
            "distillation_report",
            "budget_curve",
            "least_covered",
            "map_coordinates",
        ],
    )
