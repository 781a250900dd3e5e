"""Wiring of `embedding`."""

from kedro.pipeline import Pipeline

from take.pipelines import stage, step
from take.pipelines.embedding.nodes import embed_corpus


def create_pipeline() -> Pipeline:
    """Corpus → embeddings."""
    return stage(
        "embedding",
        [
            step(
                embed_corpus,
                ["corpus", "encoder", "params:embedding"],
                ["embeddings", "embedding_report"],
            )
        ],
        exposed=["embeddings"],
    )
