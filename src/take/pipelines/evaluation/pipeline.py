"""Wiring of `evaluation`."""

from kedro.pipeline import Pipeline

from take.pipelines import stage, step
from take.pipelines.evaluation.nodes import evaluate_distilled, summarise_evaluation

_SETTINGS = "params:evaluation"


def create_pipeline() -> Pipeline:
    """distilled, evaluation split → cells, tables, plots."""
    return stage(
        "evaluation",
        [
            step(
                evaluate_distilled,
                [
                    "corpus",
                    "evaluation_split",
                    "embeddings",
                    "weights",
                    "trajectory",
                    "influence",
                    "scoring_study",
                    "samples",
                    "pool",
                    "pool_embeddings",
                    "generator_rows",
                    "distilled",
                    "encoder",
                    "cell_folder",
                    "params:distillation.budget",
                    "params:scoring",
                    "params:distillation.selection",
                    "params:learners",
                    _SETTINGS,
                ],
                "evaluation_cells",
            ),
            step(
                summarise_evaluation,
                ["evaluation_cells", _SETTINGS],
                ["summary", "comparisons", "report", "table", "scores_plot", "margins_plot"],
            ),
        ],
        exposed=["evaluation_cells"],
    )
