"""Wiring of `ingestion`."""

from kedro.pipeline import Pipeline

from take.pipelines import stage, step
from take.pipelines.ingestion.nodes import ingest_corpus, profile_corpus


def create_pipeline() -> Pipeline:
    """raw_corpus → corpus, evaluation_split, corpus_report."""
    return stage(
        "ingestion",
        [
            step(
                ingest_corpus,
                ["raw_corpus", "params:ingestion"],
                ["corpus", "evaluation_split", "corpus_report"],
            ),
            step(profile_corpus, ["corpus", "evaluation_split"], "corpus_plot"),
        ],
        exposed=["corpus", "evaluation_split", "corpus_report"],
    )
