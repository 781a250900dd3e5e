"""Reuse by content: digests, atomic writes, records of what an artifact was made from, hooks."""
