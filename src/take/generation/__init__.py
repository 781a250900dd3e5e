"""A pool of candidate rows written by a small language model (METHOD §2)."""
