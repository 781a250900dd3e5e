"""Corpora × budgets × methods × learners × seeds → cells, tables and the page of results."""

from take.pipelines.benchmark.pipeline import create_pipeline

__all__ = ["create_pipeline"]
