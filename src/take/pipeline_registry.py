"""Every pipeline by name. Explicit, so that a broken module fails loudly instead of vanishing."""

from kedro.pipeline import Pipeline

from take.pipelines import embedding, ingestion


def register_pipelines() -> dict[str, Pipeline]:
    """The pipelines `kedro run --pipeline=<name>` knows."""
    ingest = ingestion.create_pipeline()
    # Ingestion comes along: it takes a second, is reused if nothing changed, and makes
    # `--pipeline=embedding --params=corpus=…` do what it says on a corpus never seen before.
    embed = ingest + embedding.create_pipeline()
    return {"__default__": embed, "distill": embed, "embedding": embed, "ingestion": ingest}
