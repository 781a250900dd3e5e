"""The project's `kedro` commands: `run` with reuse and readable errors, `estimate` and `verify`."""

from __future__ import annotations

import copy
import os
import signal
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from kedro.framework.cli.project import run as kedro_run
from kedro.framework.cli.utils import KedroCliError
from kedro.framework.project import settings
from kedro.framework.startup import ProjectMetadata
from kedro.utils import find_kedro_project

from take.cli_errors import KEPT, check_options, message_for_user
from take.errors import TakeError

# Warnings that only our dependencies can fix: Kedro's on the option its users know, and
# OmegaConf's on the old name of a function, which Kedro and kedro-mlflow call.
for _warning in ("Option '--pipeline' is deprecated", "register_new_resolver"):
    warnings.filterwarnings("ignore", message=f"(?s).*{_warning}")


@click.group(name="take")
def cli() -> None:
    """Commands of the TAKE project."""


def _command(name: str, runner: str, help_text: str | None) -> click.Command:
    """Kedro's `run` with another default runner, and errors a user can fix as one message."""
    command = copy.copy(kedro_run)
    command.name, command.help = name, help_text
    command.params = [
        copy.copy(parameter)
        for parameter in kedro_run.params
        if name == "run" or parameter.name != "runner"  # another runner would run
    ]
    for parameter in command.params:
        parameter.callback = _callback_for_user(parameter)
        if parameter.name == "runner":
            parameter.default = runner

    def callback(**options: Any) -> Any:
        if options.get("is_async") or (options.get("runner_params") or {}).get("is_async"):
            # Loading and saving in threads scatters one run over several MLflow runs.
            raise click.UsageError("--async is not supported: run without it.")
        # Relative paths, mlflow.yml's among them, start at the project wherever `kedro` is called.
        os.chdir(find_kedro_project(Path.cwd()) or Path.cwd())
        options = {"runner": runner, **options}
        conf = Path(options.get("conf_source") or settings.CONF_SOURCE)
        env = options.get("env") or os.environ.get("KEDRO_ENV") or "local"
        try:
            check_options(options, conf, env)
            return (kedro_run.callback or kedro_run)(**options)
        except KeyboardInterrupt as error:
            raise _stopped(128 + signal.SIGINT) from error
        except SystemExit as error:
            raise _stopped(error.code) from error
        except Exception as error:
            message = message_for_user(error, conf, env)
            if message is None:
                raise
            raise click.ClickException(message) from error

    command.callback = callback
    return command


def _stopped(code: Any) -> SystemExit:
    """One line for a run that Ctrl-C, `kill` or a closed terminal has stopped."""
    names = {128 + number: number.name for number in signal.Signals}
    if code in names:
        click.echo(f"Stopped by {names[code]}: {KEPT}.", err=True)
    return SystemExit(code)


def _callback_for_user(parameter: click.Parameter) -> Any:
    """One message on the form of an option, for whose parts Kedro's parser raises any error."""
    kedro_callback = parameter.callback

    def callback(context: click.Context, option: click.Parameter, value: Any) -> Any:
        try:
            return kedro_callback(context, option, value) if kedro_callback else value
        except click.UsageError:
            raise
        except KedroCliError as error:
            raise click.BadParameter(str(error), context, option) from error
        except Exception as error:
            reason = getattr(error, "problem", None) or getattr(error, "reason", None) or error
            raise click.BadParameter(f"this cannot be read: {reason}", context, option) from error

    return callback


run = _command("run", "take.reuse.runner.ReusingRunner", kedro_run.help)
cli.add_command(run)
cli.add_command(
    _command(
        "estimate",
        "take.hooks.EstimateRunner",
        "Estimate the time, memory and disk that each stage of a run would take.",
    )
)


@contextmanager
def _errors_for_user() -> Iterator[None]:
    """What a user can fix as one message, for the commands that run no pipeline."""
    try:
        yield
    except (TakeError, OSError) as error:
        message = message_for_user(error, Path(settings.CONF_SOURCE), "")
        if message is None:
            raise
        raise click.ClickException(message) from error


@cli.command()
@click.option(
    "--folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Check only the artifacts under this folder. [default: the project's data]",
)
@click.pass_obj
def verify(metadata: ProjectMetadata, folder: Path | None) -> None:
    """Check every artifact against its checksum and name the altered ones."""
    from take.audit.release.manifest import check_release
    from take.reuse.verify import verify as verify_folder

    with _errors_for_user():
        outcome = verify_folder(folder or metadata.project_path / "data", check_release)
    for leftover in outcome.leftovers:
        click.echo(f"left by an interrupted run, `kedro tidy` removes it: {leftover}")
    for problem in outcome.problems:
        click.secho(problem, fg="red", err=True)
    if outcome.superseded:
        click.echo(f"{len(outcome.superseded)} of these are superseded: `kedro tidy` removes them.")
    click.echo(f"{outcome.checked} artifacts checked, {len(outcome.problems)} problems.")
    if outcome.problems:
        raise SystemExit(1)


@cli.command()
@click.option(
    "--keep",
    type=click.IntRange(min=1),
    help="Also remove versions of artifacts, but for the last KEEP and what they were made from.",
)
@click.option("--yes", is_flag=True, help="Remove without asking.")
@click.pass_obj
def tidy(metadata: ProjectMetadata, keep: int | None, yes: bool) -> None:
    """Show what old versions and leftovers take on disk, and remove them after asking."""
    from take.audit.release.manifest import check_release
    from take.reuse.locks import no_run
    from take.reuse.tidy import bytes_of, removable, remove
    from take.text.format import size

    data = metadata.project_path / "data"
    with _errors_for_user(), no_run(data):
        found = removable(data, check_release, keep or 1)
        for kind, paths in (
            ("left by interrupted runs", found.leftovers),
            ("altered files that were set aside", found.set_aside),
            ("superseded versions that are damaged", found.damaged),
            (f"versions older than the last {keep or 1}", found.old),
        ):
            click.echo(f"{kind}: {len(paths):,}, {size(bytes_of(paths))}")
        if keep is None and found.old:
            click.echo("Old versions stay; `kedro tidy --keep=1` removes them.")
        chosen = [*found.leftovers, *found.set_aside, *found.damaged]
        chosen += found.old if keep else []
        if chosen and not yes:
            for path in chosen:
                click.echo(f"  {path.relative_to(metadata.project_path)}")
            question = f"Remove these {len(chosen):,} ({size(bytes_of(chosen))})?"
            click.confirm(question, abort=True)
        remove(chosen)
