"""Texts compared with texts: normalisation, word overlap, shared spans, tokens."""
