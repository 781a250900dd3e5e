"""One weight per training row: probe trajectory, influence, κ, weights, diagnostics.

`scorers.score` turns embeddings and labels into weights. The maths of METHOD §1, with the equation
numbers of the paper, and no Kedro or MLflow.
"""
