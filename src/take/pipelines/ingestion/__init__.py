"""Raw corpus → checked corpus, evaluation split and report."""

from take.pipelines.ingestion.pipeline import create_pipeline

__all__ = ["create_pipeline"]
