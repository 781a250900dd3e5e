"""TAKE: distil a labelled text corpus into a tiny, readable training set."""

__version__ = "0.1.0"
