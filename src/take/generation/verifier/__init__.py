"""The verifier: what predicts the label of a generated row, and how often it is right (METHOD §2)."""
