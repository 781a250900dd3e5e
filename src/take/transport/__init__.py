"""Optimal transport from a weighted corpus to a few candidates, by row blocks (METHOD §3)."""
