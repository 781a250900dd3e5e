"""Wiring of `generation`."""

from kedro.pipeline import Pipeline

from take.pipelines import stage, step
from take.pipelines.generation.nodes import (
    embed_pool,
    fine_tune,
    measure_pool,
    plot_generation,
    sample_and_screen,
    train_verifier,
)

_FINE_TUNING = "params:generation.fine_tuning"


def create_pipeline() -> Pipeline:
    """corpus, embeddings → adapter, verifier, pool, ledger, and the pool's quality."""
    return stage(
        "generation",
        [
            step(
                fine_tune,
                ["corpus", "weights", "language_model", _FINE_TUNING, "params:audit.copies"],
                ["adapter", "generator_rows", "canaries", "fine_tuning_report"],
            ),
            step(
                train_verifier,
                ["corpus", "embeddings", "params:generation.verifier", "params:audit.copies"],
                ["verifier", "verifier_report"],
            ),
            step(
                sample_and_screen,
                [
                    "corpus",
                    "evaluation_split",
                    "embeddings",
                    "encoder",
                    "verifier",
                    "language_model",
                    "adapter",
                    "canaries",
                    _FINE_TUNING,
                    "params:generation.sampling",
                    "params:generation.screening",
                    "params:audit.copies",
                ],
                ["pool", "ledger", "ledger_report", "sampling_report"],
            ),
            step(embed_pool, ["pool", "encoder", "params:embedding"], "pool_embeddings"),
            step(
                measure_pool,
                [
                    "pool",
                    "ledger",
                    "pool_embeddings",
                    "corpus",
                    "embeddings",
                    "generator_rows",
                    "verifier_report",
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
            "pool",
            "ledger",
            "pool_embeddings",
            "ledger_report",
            "pool_quality",
        ],
    )
