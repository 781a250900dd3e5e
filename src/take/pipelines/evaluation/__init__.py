"""Training sets → scores of learners trained on them, for one corpus or over many."""

from take.pipelines.evaluation.pipeline import create_pipeline

__all__ = ["create_pipeline"]
