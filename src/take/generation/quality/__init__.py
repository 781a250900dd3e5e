"""Whether a pool of generated rows is as good as the corpus it was generated from."""
