"""Wiring of `ingestion`."""

from kedro.pipeline import Pipeline, node

from take.pipelines.ingestion.nodes import corpus_profile, ingested_corpus


def create_pipeline() -> Pipeline:
    """raw_corpus → corpus, evaluation_split, corpus_report, corpus_profile."""
    return Pipeline(
        [
            node(
                ingested_corpus,
                inputs=["raw_corpus", "params:ingestion"],
                outputs=["corpus", "evaluation_split", "corpus_report"],
                name="ingest_corpus",
            ),
            node(
                corpus_profile,
                inputs=["corpus", "evaluation_split"],
                outputs="corpus_profile",
                name="profile_corpus",
            ),
        ],
        tags="ingestion",
    )
