"""Optimal transport from a weighted corpus to a few candidates, by row blocks (METHOD §3).

Costs, entropic plans, exact distances on a subsample, lineage and coverage. No Kedro, no MLflow.
"""
