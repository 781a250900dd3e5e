"""Every pipeline by name. Explicit, so that a broken module raises an error."""

from kedro.pipeline import Pipeline

from take.pipelines import (
    audit,
    distillation,
    embedding,
    evaluation,
    generation,
    ingestion,
    scoring,
)


def register_pipelines() -> dict[str, Pipeline]:
    """The pipelines `kedro run --pipeline=<name>` knows."""
    ingest = ingestion.create_pipeline()
    # Ingestion is included: it takes a second, is reused if nothing changed, and lets
    # `--pipeline=embedding --params=corpus=…` work on a new corpus.
    embed = ingest + embedding.create_pipeline()
    score = scoring.create_pipeline()
    generate = generation.create_pipeline()
    select = distillation.create_pipeline()
    review = audit.create_pipeline()
    evaluate = evaluation.create_pipeline()
    made = embed + score + generate + select
    distill = made + review
    return {
        "__default__": distill,
        "audit": review,
        "benchmark": evaluation.create_pipeline("benchmark"),
        "distill": distill,
        "distillation": select,
        "embedding": embed,
        # The audit after the evaluation, so that the report has its figures.
        "evaluate": made + evaluate + audit.create_pipeline("evaluation"),
        "evaluation": evaluate,
        "generation": generate,
        "ingestion": ingest,
        # A grown corpus: the pool is kept, and distilled rows that are still good are kept.
        "redistil": embed + score + distillation.create_redistil_pipeline() + review,
        "scoring": score,
    }
