"""A labelled corpus: where it comes from, what makes it valid, and how much of it to distil to."""
