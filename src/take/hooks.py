"""Hooks around a run: check its request, print its estimate or its results."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kedro.framework.hooks import hook_impl
from kedro.framework.project import pipelines
from kedro.runner import SequentialRunner
from pydantic import ValidationError

from take.errors import InputError, closest, problems
from take.reuse.digests import plain

if TYPE_CHECKING:
    from kedro.framework.context import KedroContext
    from kedro.io import CatalogProtocol
    from kedro.pipeline import Pipeline

    from take.engine.engine_settings import EngineSettings

_SHORTCUTS = frozenset({"corpus", "budget", "pool", "raw_root", "wait_minutes", "engine"})
"""What `--params` sets for all stages at once; see conf/base/globals.yml."""

_TABLES = frozenset({"evaluation.table", "benchmark.table"})
_FOR_PEOPLE = {"audit_page": "Report", "release": "Release"}


class RequestHooks:
    """Refuses unknown parameters and corpora, and impossible budgets, before a run starts."""

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
        chosen_folder(context)
        spec = select_corpus(corpora, corpus)
        CorpusSource(corpus, spec, given.get("raw_root"))
        self._n_classes = len(spec.labels or ())

    @hook_impl
    def before_pipeline_run(
        self, run_params: dict[str, Any], pipeline: Pipeline, catalog: CatalogProtocol[Any, Any]
    ) -> None:
        """Refuse versions that are not there, and a budget beyond the pool."""
        _check_pinned(run_params.get("load_versions") or {}, pipeline, catalog)
        self._check_budget(pipeline, catalog)

    def _check_budget(self, pipeline: Pipeline, catalog: CatalogProtocol[Any, Any]) -> None:
        """Before a language model is trained for it."""
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


def _check_pinned(
    versions: Mapping[str, str], pipeline: Pipeline, catalog: CatalogProtocol[Any, Any]
) -> None:
    from take.datasets.artifact import Artifact

    for name, version in versions.items():
        dataset = catalog.get(name) if name in pipeline.datasets() else None
        if not isinstance(dataset, Artifact) or not dataset.is_pinned:
            raise InputError(
                f"this run reads no versions of {name!r}",
                where="--load-versions",
                remedy="leave it out",
            )
        folder = Path(dataset._filepath)
        made = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
        if made and version not in made:
            raise InputError(
                f"there is no version {version!r} of {name!r}",
                where="--load-versions",
                remedy=closest(version, made),
            )


def chosen_corpus(context: KedroContext) -> str:
    """The corpus of this run."""
    return str(_setting(context, "corpus"))


def chosen_folder(context: KedroContext) -> str:
    """The folder of this run's artifacts: its corpus, and its pool if that is not the first."""
    from take.corpus.spec import artifact_folder

    return artifact_folder(chosen_corpus(context), _setting(context, "pool"))


def wait_minutes(context: KedroContext) -> float:
    """How long this run may wait for another one on its corpus."""
    minutes = _setting(context, "wait_minutes")
    if isinstance(minutes, bool) or not isinstance(minutes, int | float) or not minutes >= 0:
        raise InputError(
            f"wait_minutes is {minutes!r}",
            where="--params or globals.yml",
            allowed="a number of minutes, 0 or more",
        )
    return float(minutes)


def _setting(context: KedroContext, name: str) -> Any:
    """What `--params`, or else globals.yml, sets for all stages at once."""
    given = context.config_loader.runtime_params or {}
    return given.get(name, context.config_loader["globals"].get(name))


class EngineHooks:
    """Connects to the workers before the first node, and lets them go after the last."""

    def __init__(self) -> None:
        self._settings: EngineSettings | None = None
        self._folder = Path()
        self._open = ExitStack()

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        """Read and check the settings."""
        from take.engine.engine_settings import EngineSettings

        given = context.config_loader["globals"].get("engine") or {}
        given = given | ((context.config_loader.runtime_params or {}).get("engine") or {})
        try:
            self._settings = EngineSettings.model_validate(given)
        except ValidationError as error:
            raise InputError(problems(error), where="globals.yml or --params, engine") from error
        self._folder = Path(context.project_path) / "data"

    @hook_impl
    def before_pipeline_run(self, run_params: dict[str, Any]) -> None:
        """Connect, or say why that is not possible, before anything is computed."""
        self._close()  # a run that was interrupted had no hook called at its end
        settings = self._settings
        if settings is None or settings.kind == "local":
            return
        if "ParallelRunner" in str(run_params.get("runner")):  # Kedro gives its repr
            raise InputError(
                "nodes in processes of their own cannot share Ray's workers",
                where="--runner=ParallelRunner with engine.kind 'ray'",
                remedy="leave the runner out: Ray's workers run in parallel",
            )
        from take.engine import engine_of_run
        from take.engine.connection import connected

        engine = self._open.enter_context(connected(settings, self._folder))
        self._open.enter_context(engine_of_run(engine))

    @hook_impl(trylast=True)
    def after_pipeline_run(self) -> None:
        """Let the workers go."""
        self._close()

    @hook_impl(trylast=True)
    def on_pipeline_error(self) -> None:
        """Let the workers go."""
        self._close()

    def _close(self) -> None:
        self._open.close()


class EstimateRunner(SequentialRunner):
    """The runner of `kedro estimate`; it runs nothing, because `EstimateHooks` ends the run."""

    def __str__(self) -> str:
        return type(self).__name__


class EstimateHooks:
    """`kedro estimate`: prints what the run would take instead of running it."""

    def __init__(self) -> None:
        self._corpus = ""

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        """Keep the name of the corpus."""
        self._corpus = chosen_corpus(context)

    @hook_impl
    def before_pipeline_run(
        self, run_params: dict[str, Any], pipeline: Pipeline, catalog: CatalogProtocol[Any, Any]
    ) -> None:
        """Print the estimate and exit, before an MLflow run is opened and anything is computed."""
        if run_params.get("runner") != EstimateRunner.__name__:
            return  # only an estimate needs the imports below
        import click

        from take.estimate import estimate_run

        click.echo("Calibrating on this machine, about half a minute …", err=True)
        click.echo(f"\n{estimate_run(pipeline, catalog, self._corpus).table()}\n")
        raise click.exceptions.Exit(0)


class TableHooks:
    """Prints the table of an evaluation, and the paths of report and release, reused ones too."""

    @hook_impl
    def after_pipeline_run(self, pipeline: Pipeline, catalog: CatalogProtocol[Any, Any]) -> None:
        """Print the table and the paths."""
        import click

        for name in sorted(_TABLES & pipeline.all_outputs()):
            click.echo(f"\n{catalog.load(name)}\n")
        _print_paths(pipeline, catalog, _FOR_PEOPLE)

    @hook_impl
    def on_pipeline_error(
        self, error: Exception, pipeline: Pipeline, catalog: CatalogProtocol[Any, Any]
    ) -> None:
        """Print the path of the report on a blocked release."""
        from take.audit.release.folder import BlockedReleaseError

        if isinstance(error, BlockedReleaseError):
            _print_paths(pipeline, catalog, {"audit_page": _FOR_PEOPLE["audit_page"]})


def _print_paths(
    pipeline: Pipeline, catalog: CatalogProtocol[Any, Any], names: Mapping[str, str]
) -> None:
    """Print the paths of these outputs of a run."""
    import click

    from take.datasets.artifact import Artifact

    for name in names:
        dataset = catalog.get(name) if name in pipeline.all_outputs() else None
        if isinstance(dataset, Artifact) and dataset.exists():
            click.echo(f"{names[name]}: {_from_here(dataset.path)}")


def _from_here(path: Path) -> str:
    """A relative path; an absolute one to another Windows drive."""
    try:
        return os.path.relpath(path)
    except ValueError:
        return str(path)


def _parameter_names() -> frozenset[str]:
    names = {name for pipeline in pipelines.values() for name in pipeline.inputs()}
    return frozenset(
        name.removeprefix("params:").split(".")[0] for name in names if name.startswith("params:")
    )
