"""Ways to make a small training set: one method a file, one interface (METHOD §4)."""
