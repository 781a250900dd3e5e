"""Whichever way a pipeline is run, its artifacts say what they were made from.

A whole tiny `distill` in each way, followed by a default run that has nothing left to do.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from take.pipeline_registry import register_pipelines
from tests.conftest import ROOT, Project
from tests.integration.conftest import new_project, noisy_csv, set_up_films
from tests.learners import toy

pytestmark = pytest.mark.cli

DISTILL = ("--pipeline=distill", "--params=corpus=films")

STORES = ("04_feature/embedding_cache", "06_models/language_models")

SESSION = """
from pathlib import Path
from kedro.framework.session import KedroSession
from kedro.framework.startup import bootstrap_project

bootstrap_project(Path.cwd())
with KedroSession.create(runtime_params={"corpus": "films"}) as session:
    session.run(pipeline_names=["distill"])
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built wheel, unpacked."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / name)
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    options = ("--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder))
    command = [sys.executable, "-m", "pip", "wheel", *options, str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    zipfile.ZipFile(built).extractall(folder / "unpacked")
    return folder / "unpacked"


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the first run keeps for later ones: vectors, fine-tuned weights, generated rows."""
    return tmp_path_factory.mktemp("stored")


@pytest.fixture
def films(
    tmp_path: Path, fresh_mlflow_db: Path, tiny_language_model: Path, stored: Path
) -> Project:
    """The corpus of 300 films with an encoder and a language model of a few thousand weights."""
    (tmp_path / "films").mkdir()
    project = new_project(tmp_path / "films", fresh_mlflow_db)
    set_up_films(project, tiny_language_model, noisy_csv(300))
    globals_file = project.path / "conf/local/globals.yml"
    models = yaml.safe_load(globals_file.read_text())
    encoder = toy.bert(tmp_path / "bert")
    models["encoder"] = {"model": str(encoder), "backend": "torch", "max_tokens": 32}
    globals_file.write_text(yaml.safe_dump(models))
    shutil.copytree(stored, project.path / "data", dirs_exist_ok=True)
    return project


def run(project: Project, *command: str, path: Path | None = None) -> str:
    """Run Python in the project's folder, with the package at `path`."""
    options = project.options()
    options["env"]["PYTHONPATH"] = str(path or project.path / "src")
    done = subprocess.run([sys.executable, *command], **options, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def sequential(project: Project, wheel: Path) -> None:
    run(project, "-m", "kedro", "run", "--runner=SequentialRunner", *DISTILL)


def threads(project: Project, wheel: Path) -> None:
    run(project, "-m", "kedro", "run", "--runner=ThreadRunner", *DISTILL)


def processes(project: Project, wheel: Path) -> None:
    run(project, "-m", "kedro", "run", "--runner=ParallelRunner", *DISTILL)


def session(project: Project, wheel: Path) -> None:
    run(project, "-c", SESSION)


def packaged(project: Project, wheel: Path, *, tarred: bool) -> None:
    """In a folder with data alone: no pyproject.toml, no sources, the settings elsewhere."""
    elsewhere = project.path.with_name("project")
    shutil.move(project.path, elsewhere)
    project.path.mkdir()
    shutil.move(elsewhere / "data", project.path / "data")
    shutil.copytree(elsewhere / "conf", elsewhere / "packaged/conf")
    # `kedro package` leaves conf/local out.
    shutil.move(elsewhere / "packaged/conf/local", elsewhere / "packaged/conf/films")
    conf = str(elsewhere / "packaged/conf")
    if tarred:
        archive = str(elsewhere / "conf-take")
        conf = shutil.make_archive(archive, "gztar", elsewhere / "packaged", "conf")
    output = run(
        project, "-m", "take", f"--conf-source={conf}", "--env=films", *DISTILL, path=wheel
    )
    assert "telemetry" not in output.lower()
    for path in project.path.iterdir():
        shutil.move(path, elsewhere / path.name)
    project.path.rmdir()
    shutil.move(elsewhere, project.path)


def packaged_with_a_folder(project: Project, wheel: Path) -> None:
    packaged(project, wheel, tarred=False)


def packaged_with_an_archive(project: Project, wheel: Path) -> None:
    packaged(project, wheel, tarred=True)


WAYS = (sequential, threads, processes, session, packaged_with_a_folder, packaged_with_an_archive)


@pytest.mark.parametrize("way", WAYS)
def test_the_default_run_reuses_what_another_way_has_made(
    films: Project, wheel: Path, stored: Path, way: Callable[[Project, Path], None]
) -> None:
    way(films, wheel)
    for folder in STORES:
        if not (stored / folder).exists():
            shutil.copytree(films.path / "data" / folder, stored / folder)
    records = [json.loads(path.read_text()) for path in films.path.rglob("distilled*.record.json")]
    (record,) = (found for found in records if "distilled.parquet" in found["files"])
    assert record["made_from"]["node"] == "distillation.trace_rows"
    assert {"numpy", "scipy"} <= set(record["made_from"]["libraries"])
    assert record["cost"]["peak_megabytes"] > 100
    again = run(films, "-m", "kedro", "run", *DISTILL)
    assert again.count("nothing changed") == len(register_pipelines()["distill"].nodes)
    assert "Running" not in again
