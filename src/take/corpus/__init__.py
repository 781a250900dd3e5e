"""A labelled corpus: its source, its validation, and how many rows to distil it to."""
