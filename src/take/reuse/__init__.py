"""Trust in files: digests, atomic writes, records of what made what, and their verification."""
