"""One `kedro run` is one MLflow run: its settings, figures, plots and fingerprints, never texts.

Tracking never stops a run: what MLflow cannot take is named in a warning.
"""

from __future__ import annotations

import atexit
import logging
import os
import re
from collections import defaultdict
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kedro.framework.hooks import hook_impl

from take import __version__
from take.errors import InputError, problems
from take.hooks import chosen_corpus
from take.reuse.digests import plain
from take.reuse.locks import file_lock
from take.reuse.provenance import git_state
from take.reuse.records import flatten, read_record
from take.signals import delayed_signals
from take.tracking_store import (
    PROCESS_TAG,
    at_project,
    database_file,
    end_abandoned_runs,
    prepare_database,
    this_process,
)

if TYPE_CHECKING:
    from kedro.framework.context import KedroContext
    from kedro.io import CatalogProtocol
    from kedro.pipeline import Pipeline

    Catalog = CatalogProtocol[Any, Any]

_logger = logging.getLogger(__name__)

# A server that does not answer costs a run seconds; MLflow's own defaults add up to a quarter of
# an hour for each call.
_TIMEOUTS = {"MLFLOW_HTTP_REQUEST_TIMEOUT": "10", "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1"}


class TrackingHooks:
    """Logs a run to MLflow.

    kedro-mlflow opens and closes the MLflow run; what is logged is decided here, because reused
    nodes never run and their settings and figures belong to the run all the same.
    """

    def __init__(self) -> None:
        self._mlflow_hook: Any = None
        self._project_path = Path()
        self._corpus = ""
        self._remedy = ""
        self._is_available = False
        self._is_open = False

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        """Let kedro-mlflow read mlflow.yml and set the tracking server up."""
        self._end("KILLED")  # the run before this one, in a notebook
        self._project_path = Path(context.project_path)
        self._corpus = chosen_corpus(context)
        settings = at_project(_settings(context), self._project_path)
        context.config_loader["mlflow"] = settings
        database = database_file(settings)
        self._remedy = "the server that mlflow.yml names"
        if database:
            self._remedy = f"{database}; move it away if it is damaged, the next run makes another"
        self._is_available = True
        self._try("this run", self._set_up, context, database)

    def _set_up(self, context: KedroContext, database: Path | None) -> None:
        for name, value in _TIMEOUTS.items():
            os.environ.setdefault(name, value)
        lock = f"{database}.lock"
        with file_lock(Path(lock), f"it sets up {database}") if database else nullcontext():
            if database:
                prepare_database(database)
            from kedro_mlflow.framework.hooks import MlflowHook
            from mlflow.telemetry import set_telemetry_client

            # The plugin sets its own level to INFO when imported and logs its set-up. The others
            # log the traceback of an error that they then raise.
            logging.getLogger("kedro_mlflow").setLevel(logging.WARNING)
            for name in ("mlflow.store.db.utils", "sqlalchemy.pool"):
                logging.getLogger(name).setLevel(logging.CRITICAL)
            # Off, also where a notebook has imported MLflow before this package.
            set_telemetry_client()  # type: ignore[no-untyped-call]
            self._mlflow_hook = MlflowHook()
            self._mlflow_hook.after_context_created(context)

    @hook_impl
    def before_pipeline_run(
        self, run_params: dict[str, Any], pipeline: Pipeline, catalog: Catalog
    ) -> None:
        """Open the run; log its settings and the code's version."""
        self._try("this run", self._open, run_params, pipeline, catalog)
        self._try("the settings of this run", self._log_settings, pipeline, catalog)

    def _open(self, run_params: dict[str, Any], pipeline: Pipeline, catalog: Catalog) -> None:
        import mlflow

        hook = self._mlflow_hook
        # Kedro calls no hook for a run that is interrupted. At exit, this is called before MLflow's
        # own function, which would end the run as FINISHED.
        atexit.register(self._end, "KILLED")
        self._is_open = not hook._already_active_mlflow
        # An interrupt within would leave a run that MLflow has recorded and nobody closes.
        with delayed_signals():
            hook.before_pipeline_run(run_params, pipeline, catalog)
        self._is_available = hook._is_mlflow_enabled
        active = mlflow.active_run()
        if self._is_open and active is not None:
            mlflow.set_tag(PROCESS_TAG, this_process())
            client = hook.mlflow_config.server._mlflow_client
            end_abandoned_runs(client, active.info.experiment_id)

    def _log_settings(self, pipeline: Pipeline, catalog: Catalog) -> None:
        import mlflow

        names = sorted(name for name in pipeline.inputs() if name.startswith("params:"))
        settings = {name.removeprefix("params:"): plain(catalog.load(name)) for name in names}
        mlflow.log_params({"corpus": self._corpus, **_flat(settings)})
        mlflow.set_tags({"corpus": self._corpus, "take_version": __version__})
        mlflow.set_tags(git_state(self._project_path))

    @hook_impl
    def after_pipeline_run(self, pipeline: Pipeline, catalog: Catalog) -> None:
        """Log figures, plots and fingerprints of every artifact, made or reused; close the run."""
        self._log_artifacts(pipeline, catalog)
        self._end("FINISHED")

    @hook_impl
    def on_pipeline_error(self, error: Exception, pipeline: Pipeline, catalog: Catalog) -> None:
        """Close the run as failed; the figures show what stopped a release."""
        from take.audit.release.folder import BlockedReleaseError

        if isinstance(error, BlockedReleaseError):
            self._log_artifacts(pipeline, catalog)
        self._end("FAILED")

    def _log_artifacts(self, pipeline: Pipeline, catalog: Catalog) -> None:
        for name in sorted(pipeline.all_outputs()):
            self._try(f"'{name}' of this run", _log_artifact, name, catalog)

    def _end(self, status: str) -> None:
        """Close the run, if this hook has opened one that is still open."""
        atexit.unregister(self._end)
        if self._is_open:
            import mlflow

            self._is_open, self._is_available = False, True
            self._try("how this run ended", mlflow.end_run, status)

    def _try(self, what: str, action: Callable[..., object], *arguments: Any) -> None:
        """The only way into MLflow: a failure there is a warning."""
        if not self._is_available:
            return
        try:
            action(*arguments)
        except Exception as error:
            reason = next(iter(str(error).strip().splitlines()), "")[:200]
            reason = re.sub(r"//[^/@\s]+@", "//", reason)  # a password
            # A value that MLflow refuses says nothing about the next one.
            self._is_available = getattr(error, "error_code", "") == "INVALID_PARAMETER_VALUE"
            _logger.warning(
                "MLflow did not record %s (%s: %s). The run continues%s. Fix: check %s.",
                what,
                type(error).__name__,
                reason,
                "" if self._is_available else " without tracking",
                self._remedy,
            )


def _settings(context: KedroContext) -> dict[str, Any]:
    """The checked contents of mlflow.yml: what is wrong there is found before a run starts."""
    from kedro.config import MissingConfigException
    from kedro_mlflow.config.kedro_mlflow_config import KedroMlflowConfig
    from pydantic import ValidationError

    try:
        settings = dict(context.config_loader["mlflow"])
        KedroMlflowConfig.model_validate(settings)
    except MissingConfigException:
        return {}
    except ValidationError as error:
        raise InputError(
            problems(error), where="mlflow.yml", remedy="compare with conf/base/mlflow.yml"
        ) from error
    return settings


def _log_artifact(name: str, catalog: Catalog) -> None:
    """Log an artifact's figures or its file, as its `metadata.take.mlflow` says."""
    import mlflow

    from take.datasets.artifact import Artifact

    dataset = catalog.get(name)
    if not isinstance(dataset, Artifact) or not dataset.exists():
        return
    name = dataset.path.stem  # without the namespace of its pipeline
    record = read_record(dataset.path)
    if record is not None:
        mlflow.set_tag(f"fingerprint.{name}", record.content_digest[:16])
    wanted = ((dataset.metadata or {}).get("take") or {}).get("mlflow")
    if wanted == "metrics":
        report = dataset.load()
        _log_report(_flat({name: plain(getattr(report, "tracked", report))}))
    elif wanted == "artifact":
        mlflow.log_artifact(str(dataset.path))


def _log_report(report: dict[str, Any]) -> None:
    """Numbers as metrics, lists as metrics with steps, words (verdicts) as tags."""
    import mlflow

    by_step: dict[int, dict[str, float]] = defaultdict(dict)
    for key, value in report.items():
        if isinstance(value, str):
            mlflow.set_tag(key, value)
            continue
        for step, item in enumerate(value if isinstance(value, list) else [value]):
            parts = _flat({key: item}) if isinstance(item, dict) else {key: item}
            numbers = {name: x for name, x in parts.items() if isinstance(x, (bool, int, float))}
            by_step[step] |= {name: float(x) for name, x in numbers.items()}
    for step, metrics in by_step.items():
        mlflow.log_metrics(metrics, step=step)


def _flat(values: dict[str, Any]) -> dict[str, Any]:
    """One dictionary with keys that MLflow allows; label names in them may hold anything."""
    flat: dict[str, Any] = {}
    for key, value in flatten(values).items():
        allowed = "".join(c if c.isalnum() or c in "_-." else "_" for c in key)[:200]
        unique = allowed
        while unique in flat:
            unique += "_"
        flat[unique] = value
    return flat
