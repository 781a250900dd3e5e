"""Distilling: the chosen rows of the pool as a set of their own (METHOD §3)."""
