"""Fine-tuning a causal language model on a labelled corpus (METHOD §2): loss on the text alone."""
