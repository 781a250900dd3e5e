"""Corpus → fine-tuned language model → pool and ledger."""

from take.pipelines.generation.pipeline import create_pipeline

__all__ = ["create_pipeline"]
