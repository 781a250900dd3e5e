"""The benchmark's page of results, next to the paper's figures. Not part of the wheel."""
