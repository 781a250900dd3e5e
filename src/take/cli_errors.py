"""Errors that a user can fix, each as one message: options of `kedro run`, settings, disks."""

from __future__ import annotations

import errno
import inspect
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from kedro.config import MissingConfigException
from kedro.framework.cli.utils import KedroCliError
from kedro.framework.project import pipelines
from kedro.io import DatasetError
from kedro.pipeline import Pipeline
from kedro.runner import AbstractRunner
from kedro.utils import load_obj
from kedro.validation.exceptions import ParameterValidationError
from omegaconf.errors import OmegaConfBaseException

from take.configuration import check_configuration, place_of
from take.errors import InputError, TakeError, closest

KEPT = "what was made before is kept, and the next run continues from there"

# Kedro's messages about entries of the catalog, of two files that set one name, of absent files.
_ABOUT_SETTINGS = re.compile(
    "when parsing config for dataset|is not a valid dataset configuration"
    "|not found in '|missing dependencies for|is this a typo|must extend 'AbstractDataset'|'type' "
    "|must only contain arguments valid|Failed to instantiate dataset|cannot be instantiated"
    "|Cannot merge incompatible container types|Duplicate keys found in"
    "|No files of YAML or JSON format|configuration path"
)
_RUNNERS = ("ParallelRunner", "SequentialRunner", "ThreadRunner")
_DISK = {
    errno.ENOSPC: "make room on the disk",
    errno.EDQUOT: "make room: your quota is used up",
    errno.EFBIG: "allow larger files (ulimit -f), or use another disk",
    errno.EROFS: "make the disk writable",
    errno.EACCES: "get permission to read and write it",
    errno.EPERM: "get permission to read and write it",
    errno.ENOTDIR: "a file is where a folder should be: move it away",
    errno.EEXIST: "a file is where a folder should be: move it away",
    errno.EISDIR: "a folder is where a file should be: move it away",
    errno.ENAMETOOLONG: "use shorter names",
    errno.ELOOP: "remove the link that leads to itself",
    errno.EMFILE: "allow more open files (ulimit -n)",
    errno.EIO: "check the disk",
}


def check_options(options: Mapping[str, Any], conf: Path, env: str) -> None:
    """Refuse names that are not there before a session is created."""
    if conf.is_dir():
        check_configuration(conf, env)
    _check_runner(options["runner"], options.get("runner_params") or {})
    for name, value in (options.get("params") or {}).items():
        if "${" in f"{name}{value}":
            raise InputError(
                f"the value of {name!r} refers to another setting",
                where="--params",
                allowed="plain values",
                remedy="write the value itself",
            )
    chosen = _check_pipelines(options)
    namespaces = [node.namespace for node in chosen.nodes if node.namespace]
    nodes = {node.name for node in chosen.nodes}
    datasets = {name for name in chosen.datasets() if not name.startswith("param")}
    known = {
        "node_names": ("--nodes", "node", nodes),
        "from_nodes": ("--from-nodes", "node", nodes),
        "to_nodes": ("--to-nodes", "node", nodes),
        "tags": ("--tags", "tag", {tag for node in chosen.nodes for tag in node.tags}),
        "namespaces": (
            "--namespaces",
            "namespace",
            {
                ".".join(name.split(".")[: depth + 1])
                for name in namespaces
                for depth in range(name.count(".") + 1)
            },
        ),
        "from_inputs": ("--from-inputs", "dataset", set(chosen.datasets())),
        "to_outputs": ("--to-outputs", "dataset", set(chosen.datasets())),
        "load_versions": ("--load-versions", "dataset", datasets),
    }
    for option, (flag, kind, names) in known.items():
        for name in options.get(option) or ():
            _check_name(name, names, flag, kind)
    _check_selection(options, chosen)


def _check_pipelines(options: Mapping[str, Any]) -> Pipeline:
    """The pipeline that the options choose, before nodes are chosen of it."""
    given = options.get("pipelines") or [options.get("pipeline")]
    pipelines.set_requested(None)
    registered = dict(pipelines)
    chosen = Pipeline([])
    for name in given:
        if name is not None:
            _check_name(name, registered, "--pipeline", "pipeline")
        chosen += registered[name or "__default__"]
    return chosen


def _check_selection(options: Mapping[str, Any], chosen: Pipeline) -> None:
    names = ("tags", "from_nodes", "to_nodes", "node_names", "from_inputs", "to_outputs")
    selection: dict[str, Any] = {name: options.get(name) or None for name in names}
    try:
        chosen.filter(**selection, node_namespaces=options.get("namespaces") or None)
    except ValueError as error:
        raise InputError(
            "no node of the pipeline fits all options that choose nodes",
            remedy="leave some of them out",
        ) from error


def _check_name(name: str, known: Collection[str], flag: str, kind: str) -> None:
    names = [found for found in known if not found.startswith("__")]
    if name not in known:
        remedy = closest(name, names) if names else f"leave {flag} out: this run has no {kind}"
        place = "" if kind == "pipeline" else " in this run"
        raise InputError(f"there is no {kind} {name!r}{place}", where=flag, remedy=remedy)


def _check_runner(name: str, given: Mapping[str, Any]) -> None:
    remedy = f"{closest(name, _RUNNERS)} Or the import path of another, or leave it out"
    try:
        runner = load_obj(name, "kedro.runner")
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(f"there is no runner {name!r}", where="--runner", remedy=remedy) from error
    if not (isinstance(runner, type) and issubclass(runner, AbstractRunner)):
        raise InputError(f"{name!r} is not a runner", where="--runner", remedy=remedy)
    allowed = set(inspect.signature(runner).parameters) - {"extra_dataset_patterns", "is_async"}
    for parameter, value in given.items():
        if parameter not in allowed:
            raise InputError(
                f"{runner.__name__} has no parameter {parameter!r}",
                where="--runner-params",
                remedy=closest(parameter, allowed) if allowed else "leave it out",
            )
        if parameter == "max_workers" and not (type(value) is int and value > 0):
            raise InputError(
                f"max_workers is {value!r}", where="--runner-params", allowed="1, 2, 3, …"
            )


def message_for_user(error: BaseException, conf: Path, env: str) -> str | None:
    """What a user can fix among an error and its causes; None for a bug, which has a traceback."""
    chain = list(_causes(error))
    for found in chain:
        if isinstance(found, TakeError | KedroCliError):
            return str(found)
        if isinstance(found, ParameterValidationError):
            # Pydantic adds its own type tags and links to each problem.
            return re.sub(r" \[type=.*\]|\n.*errors\.pydantic\.dev.*", "", str(found))
    for found in chain:
        if isinstance(found, OmegaConfBaseException):
            return str(_unresolved(found, conf, env))
        if isinstance(
            found, MissingConfigException | ValueError | TypeError | DatasetError
        ) and _ABOUT_SETTINGS.search(str(found)):
            problem = " ".join(str(found).split()).rstrip(".")
            return str(InputError(problem, where=str(conf), remedy="correct the settings there"))
    number, name = _disk_problem(chain)
    if number:
        where = name or _dataset_path(chain) or "a temporary file"
        problem = f"it cannot be read or written ({os.strerror(number).lower()})"
        return str(InputError(problem, where=where, remedy=f"{_DISK[number]}; {KEPT}"))
    return None


def _unresolved(error: OmegaConfBaseException, conf: Path, env: str) -> InputError:
    """A `${…}` that cannot be resolved."""
    key = error.full_key or ""
    place = place_of(key, conf, env) if conf.is_dir() else ""
    reason = next(iter(str(error.msg or error).splitlines()), "")
    return InputError(
        f"the value of {key!r} cannot be resolved: {reason}",
        where=place or str(conf),
        allowed="${globals:name}, ${runtime_params:name,default}, or a name in the same file",
        remedy="correct the reference, or write the value itself",
    )


def _disk_problem(chain: Iterable[BaseException]) -> tuple[int, str]:
    """The number of the system's error, and its path if it is known; 0 if there is none."""
    for error in chain:
        number = error.errno if isinstance(error, OSError) else None
        if number is None:  # safetensors and pyarrow write it into their messages
            found = re.search(r"(?:errno|os error|code:) (\d+)\b", str(error), re.IGNORECASE)
            number = int(found[1]) if found else 0
        if number in _DISK:
            name = getattr(error, "filename", None)
            return number, str(name) if isinstance(name, str | Path) else ""
    return 0, ""


def _dataset_path(chain: Iterable[BaseException]) -> str:
    """The path of the artifact that Kedro could not load or save."""
    found = (re.search(r"filepath=([^,)]+)", str(error)) for error in chain)
    return next((match[1].strip("'") for match in found if match), "")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """The error and what led to it, each once."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
