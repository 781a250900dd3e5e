"""Whether rows give away rows of the corpus: screened, never certified."""
