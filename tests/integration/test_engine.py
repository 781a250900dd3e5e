"""A whole run on the workers of a Ray cluster: the same bytes, killed, resumed, refused."""

from __future__ import annotations

import os
import shutil
import signal
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from take.pipeline_registry import register_pipelines
from tests.conftest import Project
from tests.integration.conftest import new_project, noisy_csv, set_up_films

pytestmark = pytest.mark.cli

DISTILL = ("run", "--pipeline=distill")
LOCAL = "--params=corpus=films,embedding.segment_strings=32"
RAY = f"{LOCAL},engine.kind=ray,engine.workers=2"
# What says when something was made, or how fast.
TIMED = (
    *("record.json", "report.json", "_plot.json", ".html", "README.md", "dataset_card.md"),
    *("manifest.json", "SUMS"),
)


@pytest.fixture
def films(tmp_path: Path, fresh_mlflow_db: Path, tiny_language_model: Path) -> Project:
    (tmp_path / "films").mkdir()
    project = new_project(tmp_path / "films", fresh_mlflow_db)
    set_up_films(project, tiny_language_model, noisy_csv(300))
    return project


def listening(processes: list[psutil.Process]) -> set[str]:
    """The addresses at which they can be reached."""
    found = set()
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            connections = process.net_connections(kind="tcp")
            found |= {at.laddr.ip for at in connections if at.status == psutil.CONN_LISTEN}
    return found


def made(project: Project) -> dict[str, bytes]:
    """The artifacts without their versions, and without what says how long it took."""
    return {
        "/".join(part for part in Path(name).parts if not part.startswith("20")): content
        for name, content in project.artifacts().items()
        if not name.endswith(TIMED) and "/language_models/" not in name
    }


def test_killed_on_ray_it_resumes_and_has_the_bytes_of_a_local_run(films: Project) -> None:
    running = films.start(*DISTILL, RAY)
    cache = films.path / "data/04_feature/embedding_cache"
    deadline = time.monotonic() + 300
    while len(list(cache.rglob("segment-*.record.json"))) < 3:
        assert running.poll() is None, running.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.kill(running.pid, signal.SIGKILL)
    running.communicate()
    kept = len(list(cache.rglob("segment-*.record.json")))

    resumed = films.kedro(*DISTILL, RAY)
    assert "Ray: 2 workers of 1 core(s) each, on this machine." in resumed
    assert "Usage stats" not in resumed
    reused = int(resumed.split("unique strings: ")[1].split()[0])
    assert reused >= kept * 32
    assert not list((films.path / "data").glob(".engine-*")), "the marker is removed"
    on_ray = made(films)

    again = films.kedro(*DISTILL, LOCAL)
    assert again.count("nothing changed") == len(register_pipelines()["distill"].nodes)
    shutil.rmtree(films.path / "data")
    (films.path / "data").mkdir()
    films.write("data/01_raw/films.csv", noisy_csv(300))
    films.kedro(*DISTILL, LOCAL)
    local = made(films)
    assert sorted(on_ray) == sorted(local)
    assert [name for name in local if on_ray[name] != local[name]] == []


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_a_run_on_ray_ends_by_a_signal_and_so_do_its_workers(
    films: Project, sent: signal.Signals
) -> None:
    # A shell that starts the tests in the background lets them, and their children, ignore SIGINT.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        running = films.start(*DISTILL, RAY)
    finally:
        signal.signal(signal.SIGINT, before)
    cache = films.path / "data/04_feature/embedding_cache"
    deadline = time.monotonic() + 300
    while not list(cache.rglob("segment-*.record.json")):
        assert running.poll() is None, running.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    workers = psutil.Process(running.pid).children(recursive=True)
    assert any("Worker" in worker.name() for worker in workers)
    assert {address.removeprefix("::ffff:") for address in listening(workers)} == {"127.0.0.1"}
    running.send_signal(sent)
    running.communicate(timeout=60)

    assert running.returncode not in (0, None)
    _, alive = psutil.wait_procs(workers, timeout=30)
    assert alive == []
    assert not list((films.path / "data").glob(".engine-*"))


def test_an_engine_that_cannot_be_is_refused_before_anything_is_made(films: Project) -> None:
    def distil(settings: str, *options: str) -> list[str]:
        return [*DISTILL, *options, f"--params=corpus=films,{settings}"]

    refused = {
        "nothing answers at 127.0.0.1:1": distil("engine.kind=ray,engine.address=127.0.0.1:1"),
        "kind: Input should be 'local' or 'ray'": distil("engine.kind=dask"),
        "an address needs kind: ray": distil("engine.address=auto"),
        "workers: Input should be greater": distil("engine.workers=0"),
        "cannot share Ray's workers": distil("engine.kind=ray", "--runner=ParallelRunner"),
    }
    outcomes = films.kedro_each(*refused.values())

    for message, (code, output) in zip(refused, outcomes, strict=True):
        assert code != 0
        assert message in output
        assert "Traceback" not in output
    assert films.artifacts() == {}
