"""What the scores of learners say, and what was published before (METHOD §4)."""
