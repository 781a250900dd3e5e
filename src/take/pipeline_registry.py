"""Every pipeline by name. Explicit, so that a broken module fails loudly instead of vanishing."""

from kedro.pipeline import Pipeline

from take.pipelines import ingestion


def register_pipelines() -> dict[str, Pipeline]:
    """The pipelines `kedro run --pipeline=<name>` knows."""
    ingest = ingestion.create_pipeline()
    return {"__default__": ingest, "distill": ingest, "ingestion": ingest}
