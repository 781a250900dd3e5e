"""Kedro's project settings."""

import warnings

from take.hooks import RequestHooks, TrackingHooks

# Remarks that only our dependencies can act upon; Kedro reads this file before they are made.
for _remark in (
    "Option '--pipeline' is deprecated",  # kedro, of the option its users know
    "register_new_resolver",  # kedro and kedro-mlflow call OmegaConf's old name
    "Add type hints to the `predict` method",  # mlflow, of a class in kedro-mlflow
):
    warnings.filterwarnings("ignore", message=f"(?s).*{_remark}")

HOOKS = (RequestHooks(), TrackingHooks())

# TrackingHooks drives kedro-mlflow itself, to log settings flattened and runs that reuse nodes.
DISABLE_HOOKS_FOR_PLUGINS = ("kedro_mlflow",)

CONFIG_LOADER_ARGS = {
    "base_env": "base",
    "default_run_env": "local",
    # Corpora are globals: the catalog and the parameters both look them up.
    "config_patterns": {"globals": ["globals.yml", "corpora*.yml", "corpora*/**"]},
    # A user's conf/local/corpora.yml adds to the ones in conf/base.
    "merge_strategy": {"globals": "soft"},
}
