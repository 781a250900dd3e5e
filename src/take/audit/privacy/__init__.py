"""Whether rows reveal rows of the corpus or personal data: screened, never certified."""
