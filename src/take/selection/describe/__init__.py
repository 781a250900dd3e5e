"""How well the chosen rows represent the corpus: lineage, indicators, budget curve, figures."""
