"""What is released with distilled rows: report, dataset card, manifest."""
