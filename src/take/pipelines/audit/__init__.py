"""Distilled rows → privacy gate, balance, report, dataset card, release."""

from take.pipelines.audit.pipeline import create_pipeline

__all__ = ["create_pipeline"]
