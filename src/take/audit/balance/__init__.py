"""Bias and balance: how far distilled rows and pool have shifted from their corpus."""
