"""TAKE: distil a labelled text corpus into a tiny, readable training set."""

import os

__version__ = "0.1.0"

# Every entry point imports this module first: `kedro`, `python -m take`, a notebook. Neither
# Kedro's nor MLflow's telemetry reports a run, packaged runs without a .telemetry file included.
os.environ.setdefault("DO_NOT_TRACK", "1")
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
