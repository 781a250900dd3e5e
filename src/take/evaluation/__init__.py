"""How good a small training set is: methods × learners × seeds on a sealed evaluation split."""
