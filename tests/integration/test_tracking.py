"""MLflow follows a run and never stops it: bad databases, runs at once, killed runs."""

from __future__ import annotations

import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.conftest import CSV_CORPUS, Project, single_text_csv

pytestmark = pytest.mark.cli

RUN = ("run", "--pipeline=ingestion", "--params=corpus=films")

SESSION = """
import sys
from pathlib import Path
from kedro.framework.session import KedroSession
from kedro.framework.startup import bootstrap_project

project = Path(sys.argv[1])
bootstrap_project(project)
with KedroSession.create(project_path=project, runtime_params={"corpus": sys.argv[3]}) as session:
    session.run(pipeline_names=[sys.argv[2]])
"""


@pytest.fixture
def small(project: Project) -> Project:
    """A corpus that is read in no time, and no database yet."""
    project.add_corpora(films=CSV_CORPUS)
    project.write("data/01_raw/films.csv", single_text_csv(60))
    (project.path / "mlflow.db").unlink()
    return project


def statuses(project: Project) -> list[str]:
    with closing(sqlite3.connect(project.path / "mlflow.db")) as database:
        return [s for (s,) in database.execute("select status from runs order by start_time")]


def test_two_first_runs_at_once_are_both_tracked(small: Project) -> None:
    started = [small.start(*RUN) for _ in range(2)]
    for process in started:
        _, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors
        assert "MLflow did not record" not in errors
    assert statuses(small) == ["FINISHED", "FINISHED"]
    assert "nothing changed" in small.kedro(*RUN)  # and the next run is tracked, too
    assert len(statuses(small)) == 3


def test_a_database_whose_making_was_killed_is_made_again(small: Project) -> None:
    first = small.start(*RUN)
    deadline = time.monotonic() + 60
    while not (begun := list(small.path.glob(".*partial.mlflow.db"))):
        assert time.monotonic() < deadline
        assert first.poll() is None
        time.sleep(0.01)
    first.kill()
    first.wait()
    assert not (small.path / "mlflow.db").exists()
    small.kedro(*RUN)
    assert statuses(small) == ["FINISHED"]
    assert not begun[0].exists()


def corrupt(path: Path) -> None:
    path.write_bytes(b"no database " * 1000)


def folder(path: Path) -> None:
    path.mkdir()


def half_made(path: Path) -> None:
    """As two first runs at once used to leave it."""
    with closing(sqlite3.connect(path)) as database:
        database.execute("create table runs (run_uuid text)")
        database.execute("create table alembic_version (version_num text)")
        database.commit()


def test_a_database_or_server_that_fails_is_a_warning(
    small: Project, fresh_mlflow_db: Path
) -> None:
    """Each environment has its own place to track runs, none of which works."""
    locked = small.write("locked.db", fresh_mlflow_db.read_bytes())
    for spoil in (corrupt, folder, half_made):
        spoil(small.path / f"{spoil.__name__}.db")
    with (
        closing(sqlite3.connect(locked)) as locker,
        socket.create_server(("127.0.0.1", 0)) as silent,
        socket.create_server(("127.0.0.1", 0)) as refusing,
    ):
        locker.execute("BEGIN EXCLUSIVE")
        ports = [server.getsockname()[1] for server in (silent, refusing)]
        refusing.close()
        places = {
            **{f"{name}_db": f"sqlite:///{name}.db" for name in ("corrupt", "folder", "half_made")},
            "locked_db": "sqlite:///locked.db",
            "silent_server": f"http://user:secret@127.0.0.1:{ports[0]}",
            "refusing_server": f"http://user:secret@127.0.0.1:{ports[1]}",
        }
        for name, uri in places.items():
            small.write(f"conf/{name}/mlflow.yml", f"server: {{mlflow_tracking_uri: '{uri}'}}")
            corpora = (small.path / "conf/local/corpora.yml").read_text()
            small.write(f"conf/{name}/corpora.yml", corpora)
        # another text limit for each, so that each has something to do
        limits = [f"ingestion.max_text_chars={5000 + i}" for i in range(len(places))]
        commands = [
            ["run", "--pipeline=ingestion", f"--env={name}", f"--params=corpus=films,{limit}"]
            for name, limit in zip(places, limits, strict=True)
        ]
        began = time.monotonic()
        outcomes = small.kedro_each(*commands)
        # A silent server alone would take MLflow's own defaults a quarter of an hour a call.
        assert time.monotonic() - began < 600
    assert len(list(small.path.rglob("corpus_report.json.record.json"))) == len(places)
    for name, (code, output) in zip(places, outcomes, strict=True):
        assert code == 0, f"{name}: {output}"
    assert (small.path / "corrupt.db").read_bytes() == b"no database " * 1000
    log = (small.path / "outcomes.log").read_text()
    assert log.count("MLflow did not record this run") == len(places)
    assert log.count("database is locked") == 1
    assert "secret" not in log
    assert "Traceback" not in log


@pytest.fixture
def slow(project: Project) -> Project:
    """A corpus that takes longer to read than it takes to send a signal."""
    project.add_corpora(films=CSV_CORPUS)
    project.write("data/01_raw/films.csv", single_text_csv(200_000))
    return project


def started(project: Project, *command: str) -> subprocess.Popen[str]:
    """A run that MLflow knows of and that is not near its end."""
    # A shell that starts the tests in the background lets them, and their children, ignore SIGINT.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen([sys.executable, *command], **project.options())
    finally:
        signal.signal(signal.SIGINT, before)
    while statuses(project) != ["RUNNING"]:
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    return process


WAYS = {"kedro": ("-m", "kedro", *RUN), "session": ("-c", SESSION, ".", "ingestion", "films")}


@pytest.mark.parametrize(("way", "number"), [("kedro", signal.SIGINT), ("session", signal.SIGTERM)])
def test_an_interrupted_run_is_killed_in_mlflow(
    slow: Project, way: str, number: signal.Signals
) -> None:
    process = started(slow, *WAYS[way])
    process.send_signal(number)
    _, errors = process.communicate(timeout=120)
    assert statuses(slow) == ["KILLED"]
    if way == "kedro":
        assert process.returncode == 128 + number
        assert f"Stopped by {number.name}" in errors
        assert "Traceback" not in errors
    else:
        assert process.returncode in (128 + number, -number)


def test_a_run_that_was_killed_outright_is_marked_by_the_next(slow: Project) -> None:
    process = started(slow, *WAYS["kedro"])
    query = "select count(*) from tags where key = 'take.process'"
    with closing(sqlite3.connect(slow.path / "mlflow.db")) as database:
        while database.execute(query).fetchone() == (0,):
            time.sleep(0.05)
    process.kill()
    process.wait()
    assert statuses(slow) == ["RUNNING"]
    slow.write("data/01_raw/films.csv", single_text_csv(60))
    slow.kedro(*RUN)
    assert statuses(slow) == ["KILLED", "FINISHED"]


def test_a_session_started_elsewhere_tracks_in_the_project(small: Project, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    command = [sys.executable, "-c", SESSION, str(small.path), "ingestion", "films"]
    environment = {**os.environ, "PYTHONPATH": str(small.path / "src")}
    done = subprocess.run(
        command, cwd=elsewhere, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert list(elsewhere.iterdir()) == []
    assert statuses(small) == ["FINISHED"]
    assert list((small.path / "mlartifacts").rglob("corpus_plot.json"))
