"""Corpus → embeddings."""

from take.pipelines.embedding.pipeline import create_pipeline

__all__ = ["create_pipeline"]
