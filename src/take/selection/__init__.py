"""Choosing K candidates that stand for a weighted corpus: one selector a file (METHOD §3)."""
