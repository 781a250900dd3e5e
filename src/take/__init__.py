"""TAKE: distil a labelled text corpus into a tiny, readable training set."""

import os
import sys
from typing import Any, cast

__version__ = "0.1.0"

# Every entry point imports this module before Kedro's plugins, MLflow and the model libraries:
# `kedro`, `python -m take`, a session. None of them may report a run, whatever the environment
# says: Kedro takes an empty DO_NOT_TRACK for consent, and MLflow anything but "true".
for _switch in (
    "DO_NOT_TRACK",
    "KEDRO_DISABLE_TELEMETRY",
    "MLFLOW_DISABLE_TELEMETRY",
    "HF_HUB_DISABLE_TELEMETRY",
):
    os.environ[_switch] = "true"
# OpenVINO has no such switch: it reports conversions if this package can be imported.
sys.modules.setdefault("openvino_telemetry", cast(Any, None))
