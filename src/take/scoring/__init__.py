"""How much each training row teaches: probe trajectory, influence, κ, weights, diagnostics.

`score` turns embeddings and labels into one weight per row; every scorer shares its signature.
The maths of METHOD §1, with the equation numbers of the paper, and no Kedro or MLflow.
"""
