"""`exam`: rows chosen by the loss of surrogate models trained on them (METHOD §3)."""
