"""Wiring of `scoring`."""

from kedro.pipeline import Pipeline, node

from take.pipelines.scoring.nodes import (
    extreme_rows_table,
    influence,
    knowledge_weights,
    probe_trajectory,
    scoring_figures,
    scoring_study,
)


def create_pipeline() -> Pipeline:
    """corpus, embeddings → trajectory, influence, weights, and the diagnostics."""
    settings = "params:scoring"
    return Pipeline(
        [
            node(
                probe_trajectory,
                inputs=["embeddings", "corpus", settings],
                outputs="trajectory",
                name="train_probe",
            ),
            node(
                influence,
                inputs=["embeddings", "corpus", "trajectory", settings],
                outputs="influence",
                name="measure_influence",
            ),
            node(
                scoring_study,
                inputs=["embeddings", "corpus", settings],
                outputs="scoring_study",
                name="study_scorers",
            ),
            node(
                knowledge_weights,
                inputs=[
                    "embeddings",
                    "corpus",
                    "trajectory",
                    "influence",
                    "scoring_study",
                    settings,
                ],
                outputs=["weights", "scoring_report"],
                name="weigh_rows",
            ),
            node(
                extreme_rows_table,
                inputs=["corpus", "weights"],
                outputs="scoring_examples",
                name="show_extreme_rows",
            ),
            node(
                scoring_figures,
                inputs=["scoring_report", "scoring_study"],
                outputs=["trajectory_plot", "weights_plot"],
                name="plot_scoring",
            ),
        ],
        tags="scoring",
    )
