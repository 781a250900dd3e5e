"""The checks and documents of a release: privacy, balance, report, card."""
