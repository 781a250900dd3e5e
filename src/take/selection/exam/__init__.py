"""`exam`: rows chosen by what learners taught with them get right on other rows (METHOD §3)."""
