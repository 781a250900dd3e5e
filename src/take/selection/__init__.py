"""Choosing K candidates that represent a weighted corpus, and describing the choice (METHOD §3)."""
