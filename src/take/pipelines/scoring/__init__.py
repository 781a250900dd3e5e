"""Embeddings → trajectory → influence → knowledge weights."""

from take.pipelines.scoring.pipeline import create_pipeline

__all__ = ["create_pipeline"]
