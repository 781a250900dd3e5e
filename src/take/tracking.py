"""One `kedro run` is one MLflow run: its settings, figures, plots and fingerprints, never texts."""

from __future__ import annotations

import logging
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kedro.framework.hooks import hook_impl

from take import __version__
from take.hooks import chosen_corpus
from take.reuse.digests import plain
from take.reuse.provenance import git_state
from take.reuse.records import flatten, read_record

if TYPE_CHECKING:
    from kedro.framework.context import KedroContext
    from kedro.io import CatalogProtocol
    from kedro.pipeline import Pipeline


class TrackingHooks:
    """Logs a run to MLflow.

    kedro-mlflow opens and closes the MLflow run; what is logged is decided here, because reused
    nodes never run and their settings and figures belong to the run all the same.
    """

    def __init__(self) -> None:
        self._mlflow_hook: Any = None
        self._project_path = Path()
        self._corpus = ""

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        """Let kedro-mlflow read mlflow.yml and set the tracking server up."""
        from kedro_mlflow.framework.hooks import MlflowHook

        # The plugin sets its own level to INFO when imported and logs its set-up.
        logging.getLogger("kedro_mlflow").setLevel(logging.WARNING)
        self._mlflow_hook = MlflowHook()
        self._mlflow_hook.after_context_created(context)
        self._project_path = Path(context.project_path)
        self._corpus = chosen_corpus(context)

    @hook_impl
    def before_pipeline_run(
        self, run_params: dict[str, Any], pipeline: Pipeline, catalog: CatalogProtocol[Any, Any]
    ) -> None:
        """Open the run; log its settings and the code's version."""
        import mlflow

        self._mlflow_hook.before_pipeline_run(run_params, pipeline, catalog)
        if not self._mlflow_hook._is_mlflow_enabled:
            return
        names = sorted(name for name in pipeline.inputs() if name.startswith("params:"))
        settings = {name.removeprefix("params:"): plain(catalog.load(name)) for name in names}
        mlflow.log_params({"corpus": self._corpus, **_flat(settings)})
        mlflow.set_tags({"corpus": self._corpus, "take_version": __version__})
        mlflow.set_tags(git_state(self._project_path))

    @hook_impl
    def after_pipeline_run(
        self, run_params: dict[str, Any], pipeline: Pipeline, catalog: CatalogProtocol[Any, Any]
    ) -> None:
        """Log figures, plots and fingerprints of every artifact, made or reused; close the run."""
        if self._mlflow_hook._is_mlflow_enabled:
            for name in sorted(pipeline.all_outputs()):
                _log_artifact(name, catalog)
        self._mlflow_hook.after_pipeline_run(run_params, pipeline, catalog)

    @hook_impl
    def on_pipeline_error(
        self,
        error: Exception,
        run_params: dict[str, Any],
        pipeline: Pipeline,
        catalog: CatalogProtocol[Any, Any],
    ) -> None:
        """Close the run as failed; the figures show what stopped a release."""
        from take.audit.release.folder import BlockedReleaseError

        if isinstance(error, BlockedReleaseError) and self._mlflow_hook._is_mlflow_enabled:
            for name in sorted(pipeline.all_outputs()):
                _log_artifact(name, catalog)
        self._mlflow_hook.on_pipeline_error(error, run_params, pipeline, catalog)


def _log_artifact(name: str, catalog: CatalogProtocol[Any, Any]) -> None:
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
        _log_report(_flat({name: plain(dataset.load())}))
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
