"""Screening what the language model wrote: a check returns a reason or nothing (METHOD §2)."""
