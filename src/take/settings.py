"""Kedro's project settings."""

from take.hooks import EstimateHooks, RequestHooks, TableHooks, TrackingHooks

# Of hooks that come first, the last one here is called first: requests are checked, then estimated.
HOOKS = (EstimateHooks(), RequestHooks(), TableHooks(), TrackingHooks())

# TrackingHooks drives kedro-mlflow itself, to log settings flattened and runs that reuse nodes.
DISABLE_HOOKS_FOR_PLUGINS = ("kedro_mlflow",)

CONFIG_LOADER_ARGS = {
    "base_env": "base",
    "default_run_env": "local",
    # Corpora are globals: the catalog and the parameters both look them up.
    "config_patterns": {"globals": ["globals.yml", "corpora*.yml", "corpora*/**"]},
    # A user's conf/local adds to what is in conf/base: a corpus, one setting of a stage.
    "merge_strategy": {"globals": "soft", "parameters": "soft"},
}
