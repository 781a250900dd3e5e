"""The project's `kedro` commands: `run` with reuse and readable errors, `estimate` and `verify`."""

from __future__ import annotations

import copy
import functools
import os
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from kedro.framework.cli.project import run as kedro_run
from kedro.framework.startup import ProjectMetadata
from kedro.utils import find_kedro_project
from kedro.validation.exceptions import ParameterValidationError

from take.errors import TakeError

_RUNNER = "take.reuse.runner.ReusingRunner"

# Remarks that only our dependencies can act upon: Kedro on the option its users know, and on
# OmegaConf's old name for a function, which Kedro and kedro-mlflow call.
for _remark in ("Option '--pipeline' is deprecated", "register_new_resolver"):
    warnings.filterwarnings("ignore", message=f"(?s).*{_remark}")


@click.group(name="take")
def cli() -> None:
    """Commands of the TAKE project."""


def _readable(callback: Callable[..., Any]) -> Callable[..., Any]:
    """Show an error the user can mend as one message instead of a traceback."""

    @functools.wraps(callback)
    def readable(*args: Any, **options: Any) -> Any:
        if options.get("is_async") or (options.get("runner_params") or {}).get("is_async"):
            # Loading and saving in threads scatters one run over several MLflow runs.
            raise click.UsageError("--async is not supported: run without it.")
        # Relative paths, mlflow.yml's among them, start at the project wherever `kedro` is called.
        os.chdir(find_kedro_project(Path.cwd()) or Path.cwd())
        try:
            return callback(*args, **options)
        except Exception as error:
            message = _message_for_user(error)
            if message is None:
                raise
            raise click.ClickException(message) from error

    return readable


def _message_for_user(error: BaseException | None) -> str | None:
    """The message of the first mendable error in the chain of causes, if there is one."""
    while error is not None:
        if isinstance(error, TakeError):
            return str(error)
        if isinstance(error, ParameterValidationError):
            # Pydantic adds its own type tags and links to each problem.
            return re.sub(r" \[type=.*\]|\n.*errors\.pydantic\.dev.*", "", str(error))
        error = error.__cause__ or error.__context__
    return None


def _run_command() -> click.Command:
    """Kedro's own `run`, with our runner unless another is asked for."""
    command = copy.copy(kedro_run)
    command.params = [copy.copy(parameter) for parameter in kedro_run.params]
    for parameter in command.params:
        if parameter.name == "runner":
            parameter.default = _RUNNER
    command.callback = _readable(command.callback or kedro_run)
    return command


run = _run_command()
cli.add_command(run)


def _estimate_command() -> click.Command:
    """`run` with `estimate=true`: the same options and the same errors, and nothing is made."""
    command = copy.copy(run)
    command.name = "estimate"
    command.help = "Say what a run would take: time, memory and disk of each stage."

    def estimate(*args: Any, **options: Any) -> Any:
        options["params"] = {**(options.get("params") or {}), "estimate": True}
        return (run.callback or run)(*args, **options)

    command.callback = estimate
    return command


cli.add_command(_estimate_command())


@cli.command()
@click.option(
    "--folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Check only the artifacts under this folder. [default: the project's data]",
)
@click.pass_obj
def verify(metadata: ProjectMetadata, folder: Path | None) -> None:
    """Check every artifact against its checksum and name the altered ones."""
    from take.reuse.verify import verify as verify_folder

    outcome = verify_folder(folder or metadata.project_path / "data")
    for leftover in outcome.leftovers:
        click.echo(f"left by an interrupted run, safe to delete: {leftover}")
    for problem in outcome.problems:
        click.secho(problem, fg="red", err=True)
    click.echo(f"{outcome.checked} artifacts checked, {len(outcome.problems)} problems.")
    if outcome.problems:
        raise SystemExit(1)
