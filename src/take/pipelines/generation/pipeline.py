"""Wiring of `generation`."""

from kedro.pipeline import Pipeline

from take.pipelines import stage, step
from take.pipelines.generation.nodes import (
    fine_tune,
    keep_pool,
    measure_pool,
    plot_generation,
    sample_and_screen,
)

_FINE_TUNING = "params:generation.fine_tuning"


def create_pipeline() -> Pipeline:
    """corpus, embeddings, trajectory → adapter, samples, pool, ledger, and the pool's quality."""
    return stage(
        "generation",
        [
            step(
                fine_tune,
                ["corpus", "weights", "language_model", _FINE_TUNING],
                ["adapter", "generator_rows", "canaries", "fine_tuning_report"],
            ),
            step(
                sample_and_screen,
                [
                    "corpus",
                    "evaluation_split",
                    "embeddings",
                    "encoder",
                    "trajectory",
                    "language_model",
                    "adapter",
                    "canaries",
                    _FINE_TUNING,
                    "params:generation.sampling",
                    "params:generation.screening",
                ],
                ["samples", "sampling_report"],
            ),
            step(
                keep_pool,
                ["samples", "corpus", "encoder", "params:embedding"],
                ["pool", "pool_embeddings", "ledger", "ledger_report"],
            ),
            step(
                measure_pool,
                [
                    "pool",
                    "samples",
                    "pool_embeddings",
                    "corpus",
                    "embeddings",
                    "generator_rows",
                    "trajectory",
                    "language_model",
                    "params:generation.quality",
                ],
                ["pool_quality", "pool_coverage", "pool_examples"],
            ),
            step(
                plot_generation,
                ["pool_quality", "ledger_report", "fine_tuning_report"],
                ["pool_plot", "pool_classes_plot", "generation_plot"],
            ),
        ],
        exposed=[
            "adapter",
            "generator_rows",
            "canaries",
            "fine_tuning_report",
            "samples",
            "pool",
            "pool_embeddings",
            "ledger_report",
            "pool_quality",
        ],
    )
