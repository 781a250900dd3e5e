"""Writing rows with a language model: decoders, token choice, batches, and what is kept on disk."""
