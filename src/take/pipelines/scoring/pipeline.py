"""Wiring of `scoring`."""

from kedro.pipeline import Pipeline

from take.pipelines import stage, step
from take.pipelines.scoring.nodes import (
    measure_influence,
    plot_scoring,
    show_extreme_rows,
    study_scorers,
    train_probe,
    weigh_rows,
)

_ROWS = ["embeddings", "corpus"]
_SETTINGS = "params:scoring"


def create_pipeline() -> Pipeline:
    """corpus, embeddings → trajectory, influence, weights, and the diagnostics."""
    return stage(
        "scoring",
        [
            step(train_probe, [*_ROWS, _SETTINGS], "trajectory"),
            step(measure_influence, [*_ROWS, "trajectory", _SETTINGS], "influence"),
            step(study_scorers, [*_ROWS, _SETTINGS], "scoring_study"),
            step(
                weigh_rows,
                [*_ROWS, "trajectory", "influence", "scoring_study", _SETTINGS],
                ["weights", "scoring_report"],
            ),
            step(show_extreme_rows, ["corpus", "weights"], "scoring_examples"),
            step(
                plot_scoring,
                ["scoring_report", "scoring_study"],
                ["trajectory_plot", "weights_plot"],
            ),
        ],
        exposed=["trajectory", "influence", "scoring_study", "weights", "scoring_report"],
    )
