"""Rows of numbers and of labelled texts: blocks, nearest rows, array types."""
