"""Wiring of `generation`."""

from kedro.pipeline import Pipeline, node

from take.pipelines.generation.nodes import (
    fine_tuned_model,
    generated_rows,
    generation_figures,
    pool_measures,
    screened_pool,
)


def create_pipeline() -> Pipeline:
    """corpus, embeddings, trajectory → adapter, samples, pool, ledger, and the pool's quality."""
    fine_tuning = "params:generation.fine_tuning"
    return Pipeline(
        [
            node(
                fine_tuned_model,
                inputs=["corpus", "weights", "language_model", fine_tuning],
                outputs=["adapter", "generator_rows", "canaries", "fine_tuning_report"],
                name="fine_tune",
            ),
            node(
                generated_rows,
                inputs=[
                    "corpus",
                    "evaluation_split",
                    "embeddings",
                    "encoder",
                    "trajectory",
                    "language_model",
                    "adapter",
                    "canaries",
                    fine_tuning,
                    "params:generation.sampling",
                    "params:generation.screening",
                ],
                outputs=["samples", "sampling_report"],
                name="sample_and_screen",
            ),
            node(
                screened_pool,
                inputs=["samples", "corpus", "encoder", "params:embedding"],
                outputs=["pool", "pool_embeddings", "ledger", "ledger_report"],
                name="keep_pool",
            ),
            node(
                pool_measures,
                inputs=[
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
                outputs=["pool_quality", "pool_coverage", "pool_examples"],
                name="measure_pool",
            ),
            node(
                generation_figures,
                inputs=["pool_quality", "ledger_report", "fine_tuning_report"],
                outputs=["pool_plot", "pool_classes_plot", "generation_plot"],
                name="plot_generation",
            ),
        ],
        tags="generation",
    )
