"""The audit as one HTML file: what a reviewer reads before a distilled set is released."""
