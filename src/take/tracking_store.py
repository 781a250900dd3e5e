"""Where MLflow keeps runs: its SQLite file, and the runs in it that were never closed."""

from __future__ import annotations

import platform
import re
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from take.reuse.atomic import TEMPORARY_SUFFIX, atomic_path

if TYPE_CHECKING:
    from mlflow import MlflowClient

_SQLITE = re.compile(r"sqlite:///(?P<path>(?!:memory:)[^?]+)")
_BUSY_SECONDS = 10.0
PROCESS_TAG = "take.process"
"""The process that a run belongs to: machine, id, start."""


def at_project(settings: Mapping[str, Any], project: Path) -> dict[str, Any]:
    """The settings of mlflow.yml with a relative SQLite file put under the project.

    MLflow would create it in whatever folder the run is started from.

    >>> at_project({"server": {"mlflow_tracking_uri": "sqlite:///mlflow.db"}}, Path("/project"))
    {'server': {'mlflow_tracking_uri': 'sqlite:////project/mlflow.db'}}
    """
    server = settings.get("server")
    if not isinstance(server, Mapping):
        return dict(settings)
    placed = dict(server)
    for name in ("mlflow_tracking_uri", "mlflow_registry_uri"):
        found = _SQLITE.match(str(server.get(name)))
        if found:
            rest = found.string[found.end() :]
            placed[name] = f"sqlite:///{(project / found['path']).as_posix()}{rest}"
    return {**settings, "server": placed}


def database_file(settings: Mapping[str, Any]) -> Path | None:
    """The SQLite file of mlflow.yml; None if runs go to a server.

    >>> database_file({"server": {"mlflow_tracking_uri": "http://localhost:5000"}})
    """
    server = settings.get("server")
    uri = server.get("mlflow_tracking_uri") if isinstance(server, Mapping) else None
    found = _SQLITE.match(str(uri))
    return Path(found["path"]) if found else None


def prepare_database(path: Path) -> None:
    """Create the database whole or not at all, or check that it can be written.

    MLflow fills a new file table by table, for seconds: a second run that comes upon it, or a run
    killed meanwhile, would leave a file that no run can use. And it tries for two minutes to open
    a file that is damaged or locked.
    """
    if path.exists() and path.stat().st_size:
        with closing(sqlite3.connect(path, timeout=_BUSY_SECONDS)) as connection:
            connection.execute("SELECT count(*) FROM sqlite_master")
            connection.execute("BEGIN IMMEDIATE")
            connection.rollback()
        return
    from mlflow.store.db.utils import _initialize_tables, create_sqlalchemy_engine

    for leftover in path.parent.glob(f".*{TEMPORARY_SUFFIX}.{path.name}*"):
        leftover.unlink(missing_ok=True)
    with atomic_path(path) as temporary:
        engine = create_sqlalchemy_engine(f"sqlite:///{temporary}")  # type: ignore[no-untyped-call]
        _initialize_tables(engine)  # type: ignore[no-untyped-call]
        engine.dispose()


def this_process() -> str:
    """The name of this process in `PROCESS_TAG`."""
    import psutil

    process = psutil.Process()
    return f"{platform.node()}:{process.pid}:{process.create_time():.0f}"


def end_abandoned_runs(client: MlflowClient, experiment_id: str) -> None:
    """Mark the runs of this machine as killed whose process was killed (kill -9)."""
    running = client.search_runs(
        [experiment_id],
        f"attributes.status = 'RUNNING' AND tags.`{PROCESS_TAG}` LIKE '{platform.node()}:%'",
    )
    for run in running:
        if not _is_alive(run.data.tags[PROCESS_TAG]):
            client.set_terminated(run.info.run_id, "KILLED")


def _is_alive(process: str) -> bool:
    import psutil

    _, number, started = process.rsplit(":", 2)
    try:
        began: float = psutil.Process(int(number)).create_time()
    except psutil.Error:
        return False
    return abs(began - float(started)) < 2
