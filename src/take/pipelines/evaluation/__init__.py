"""Distilled rows → what learners taught with them get right, beside other methods."""

from take.pipelines.evaluation.pipeline import create_pipeline

__all__ = ["create_pipeline"]
