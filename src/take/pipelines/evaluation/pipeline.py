"""Wiring of `evaluation`."""

from kedro.pipeline import Pipeline, node

from take.pipelines.evaluation.nodes import evaluated, evaluation_cells


def create_pipeline() -> Pipeline:
    """distilled, evaluation split → cells, tables, plots."""
    settings = "params:evaluation"
    return Pipeline(
        [
            node(
                evaluation_cells,
                inputs=[
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
                    settings,
                ],
                outputs="evaluation_cells",
                name="evaluate_distilled",
            ),
            node(
                evaluated,
                inputs=["evaluation_cells", settings],
                outputs=[
                    "evaluation_summary",
                    "evaluation_comparisons",
                    "evaluation_report",
                    "evaluation_table",
                    "evaluation_scores_plot",
                    "evaluation_margins_plot",
                ],
                name="summarise_evaluation",
            ),
        ],
        tags="evaluation",
    )
