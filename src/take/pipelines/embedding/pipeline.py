"""Wiring of `embedding`."""

from kedro.pipeline import Pipeline, node

from take.pipelines.embedding.nodes import embedded_corpus


def create_pipeline() -> Pipeline:
    """Corpus → embeddings, embedding_report."""
    return Pipeline(
        [
            node(
                embedded_corpus,
                inputs=["corpus", "encoder", "params:embedding"],
                outputs=["embeddings", "embedding_report"],
                name="embed_corpus",
            )
        ],
        tags="embedding",
    )
