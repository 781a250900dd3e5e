"""Every pipeline by name. Explicit, so that a broken module fails loudly instead of vanishing."""

from kedro.pipeline import Pipeline

from take.pipelines import (
    benchmark,
    distillation,
    embedding,
    evaluation,
    generation,
    ingestion,
    scoring,
)

TO_COME = ("audit",)
"""Stages that this version does not have yet."""


def register_pipelines() -> dict[str, Pipeline]:
    """The pipelines `kedro run --pipeline=<name>` knows."""
    ingest = ingestion.create_pipeline()
    # Ingestion comes along: it takes a second, is reused if nothing changed, and makes
    # `--pipeline=embedding --params=corpus=…` do what it says on a corpus never seen before.
    embed = ingest + embedding.create_pipeline()
    score = scoring.create_pipeline()
    generate = generation.create_pipeline()
    select = distillation.create_pipeline()
    distill = embed + score + generate + select
    return {
        "__default__": distill,
        "benchmark": benchmark.create_pipeline(),
        "distill": distill,
        "distillation": select,
        "embedding": embed,
        "evaluate": distill + evaluation.create_pipeline(),
        "evaluation": evaluation.create_pipeline(),
        "generation": generate,
        "ingestion": ingest,
        # A grown corpus: the pool stays, and what was distilled before stays where it still stands.
        "redistil": embed + score + distillation.create_redistil_pipeline(),
        "scoring": score,
    }
