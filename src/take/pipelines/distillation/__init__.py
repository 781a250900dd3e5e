"""Weighted corpus and pool → distilled rows, their lineage, and how well they represent it."""

from take.pipelines.distillation.pipeline import create_pipeline, create_redistil_pipeline

__all__ = ["create_pipeline", "create_redistil_pipeline"]
