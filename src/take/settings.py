"""Kedro's project settings."""

from take.corpus.spec import artifact_folder
from take.hooks import EngineHooks, EstimateHooks, RequestHooks, TableHooks
from take.reuse.hooks import ProvenanceHooks
from take.signals import SignalHooks
from take.tracking import TrackingHooks

# The last is called first: a request is checked, or only estimated, and its inputs are checked,
# before MLflow has a run of it.
HOOKS = (
    TableHooks(),
    TrackingHooks(),
    EngineHooks(),
    ProvenanceHooks(),
    SignalHooks(),
    EstimateHooks(),
    RequestHooks(),
)

# TrackingHooks drives kedro-mlflow itself, to log settings flattened and runs that reuse nodes.
DISABLE_HOOKS_FOR_PLUGINS = ("kedro_mlflow",)

CONFIG_LOADER_ARGS = {
    "base_env": "base",
    "default_run_env": "local",
    # Corpora are globals: the catalog and the parameters both look them up.
    "config_patterns": {
        "globals": ["globals.yml", "corpora*.yml", "corpora*/**"],
        "mlflow": ["mlflow*", "mlflow*/**"],
    },
    "custom_resolvers": {"artifact_folder": artifact_folder},
    # A user's conf/local adds to what is in conf/base: a corpus, one setting of a stage.
    "merge_strategy": {"globals": "soft", "parameters": "soft"},
}
