"""The verifier: predicts the labels of generated rows, and how often it is right (METHOD §2)."""
