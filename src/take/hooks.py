"""What happens around a run: its request is checked, and it is tracked in MLflow."""

from __future__ import annotations

import logging
import os
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kedro.framework.hooks import hook_impl
from kedro.framework.project import pipelines

from take import __version__
from take.errors import InputError, closest
from take.reuse.digests import plain
from take.reuse.records import flatten, read_record
from take.version import git_state

if TYPE_CHECKING:
    from kedro.framework.context import KedroContext
    from kedro.io import CatalogProtocol
    from kedro.pipeline import Pipeline

_logger = logging.getLogger(__name__)

_SHORTCUTS = frozenset({"corpus", "budget", "raw_root", "estimate"})
"""What `--params` sets for all stages at once; see conf/base/globals.yml."""

_TABLES = frozenset({"evaluation.table", "benchmark.table"})
_FOR_PEOPLE = {"audit_page": "Report", "release": "Release"}


class RequestHooks:
    """Refuses a request that cannot be meant, before a run exists."""

    def __init__(self) -> None:
        self._n_classes = 0  # 0 where corpora.yml does not name the labels

    @hook_impl(tryfirst=True)
    def after_context_created(self, context: KedroContext) -> None:
        """Check the runtime parameters' names and the corpus they choose."""
        from take.corpus.sources import CorpusSource
        from take.corpus.spec import select_corpus

        given = context.config_loader.runtime_params or {}
        known = _SHORTCUTS | _parameter_names()
        for name in given:
            if name not in known:
                raise InputError(
                    f"there is no parameter {name!r}", where="--params", remedy=closest(name, known)
                )
        corpora = context.config_loader["globals"]["corpora"]
        corpus = chosen_corpus(context)
        spec = select_corpus(corpora, corpus)
        CorpusSource(corpus, spec, given.get("raw_root"))
        self._n_classes = len(spec.labels or ())

    @hook_impl(tryfirst=True)
    def before_pipeline_run(self, pipeline: Pipeline, catalog: CatalogProtocol[Any, Any]) -> None:
        """Refuse a budget beyond the pool before a language model is trained for it."""
        from take.corpus.budget import Budget

        budget, sampling = "params:distillation.budget", "params:generation.sampling"
        if not {budget, sampling} <= pipeline.inputs() or not self._n_classes:
            return
        written = Budget.parse(catalog.load(budget))
        pool_rows = int(plain(catalog.load(sampling)).get("rows", 0))
        # A share of the corpus is known when the corpus has been read; selection checks it then.
        if pool_rows and written.kind != "percent":
            most = max(written.split([1] * self._n_classes))
            if most > pool_rows // self._n_classes:
                raise InputError(
                    f"budget {written} asks for {most} rows of a class, but the pool will have "
                    f"{pool_rows // self._n_classes} of each",
                    where="generation.sampling.rows",
                    remedy=f"generate at least {most * self._n_classes} rows, or lower the budget",
                )


def chosen_corpus(context: KedroContext) -> str:
    """The corpus of this run."""
    given = context.config_loader.runtime_params or {}
    return str(given.get("corpus", context.config_loader["globals"]["corpus"]))


class EstimateHooks:
    """`--params=estimate=true`: says what the run would take, in its place."""

    def __init__(self) -> None:
        self._corpus = ""

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        """Keep the name of the corpus."""
        self._corpus = chosen_corpus(context)

    @hook_impl(tryfirst=True)
    def before_pipeline_run(
        self, run_params: dict[str, Any], pipeline: Pipeline, catalog: CatalogProtocol[Any, Any]
    ) -> None:
        """Print the estimate and end, before MLflow has a run and anything is computed."""
        import click

        given = run_params.get("runtime_params") or {}
        if "estimate" not in given:
            return  # what an estimate needs is imported for an estimate alone
        from take.estimate.command import estimate_run, is_asked

        if is_asked(given):
            click.echo("Calibrating on this machine, about half a minute …", err=True)
            click.echo(f"\n{estimate_run(pipeline, catalog, self._corpus).table()}\n")
            raise click.exceptions.Exit(0)


class TableHooks:
    """Shows what a run was made for, whether it was computed now or before."""

    @hook_impl
    def after_pipeline_run(self, pipeline: Pipeline, catalog: CatalogProtocol[Any, Any]) -> None:
        """Print the table of an evaluation."""
        import click

        for name in sorted(_TABLES & pipeline.all_outputs()):
            click.echo(f"\n{catalog.load(name)}\n")
        _say_where(pipeline, catalog, _FOR_PEOPLE)

    @hook_impl
    def on_pipeline_error(
        self, error: Exception, pipeline: Pipeline, catalog: CatalogProtocol[Any, Any]
    ) -> None:
        """Say where the report is that tells why a release was stopped."""
        from take.audit.release.folder import BlockedReleaseError

        if isinstance(error, BlockedReleaseError):
            _say_where(pipeline, catalog, {"audit_page": _FOR_PEOPLE["audit_page"]})


def _say_where(
    pipeline: Pipeline, catalog: CatalogProtocol[Any, Any], names: Mapping[str, str]
) -> None:
    """Name what a run has made for people to open."""
    import click

    from take.datasets.artifact import Artifact

    for name in names:
        dataset = catalog.get(name) if name in pipeline.all_outputs() else None
        if isinstance(dataset, Artifact) and dataset.exists():
            click.echo(f"{names[name]}: {_from_here(dataset.path)}")


def _from_here(path: Path) -> str:
    """A path as short as it can be: there is none from one Windows drive to another."""
    try:
        return os.path.relpath(path)
    except ValueError:
        return str(path)


class TrackingHooks:
    """One `kedro run` is one MLflow run.

    kedro-mlflow opens and closes it; what is logged is decided here, because reused nodes never
    run and their settings and figures belong to the run all the same. Texts are never logged.
    """

    def __init__(self) -> None:
        self._mlflow_hook: Any = None
        self._project_path = Path()
        self._corpus = ""

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        """Let kedro-mlflow read mlflow.yml and set the tracking server up."""
        from kedro_mlflow.framework.hooks import MlflowHook

        # The plugin sets its own level to INFO when imported and narrates its set-up.
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
        """Close the run as failed; what stopped a release is in its figures."""
        from take.audit.release.folder import BlockedReleaseError

        if isinstance(error, BlockedReleaseError) and self._mlflow_hook._is_mlflow_enabled:
            for name in sorted(pipeline.all_outputs()):
                _log_artifact(name, catalog)
        self._mlflow_hook.on_pipeline_error(error, run_params, pipeline, catalog)


def _parameter_names() -> frozenset[str]:
    names = {name for pipeline in pipelines.values() for name in pipeline.inputs()}
    return frozenset(
        name.removeprefix("params:").split(".")[0] for name in names if name.startswith("params:")
    )


def _log_artifact(name: str, catalog: CatalogProtocol[Any, Any]) -> None:
    """Log what an artifact's `metadata.take.mlflow` asks for: its figures, or its file."""
    import mlflow

    from take.datasets.artifact import Artifact

    dataset = catalog.get(name)
    if not isinstance(dataset, Artifact) or not dataset.exists():
        return
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
