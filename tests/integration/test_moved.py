"""A project that was moved: what it made is not made again."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from take.pipeline_registry import register_pipelines
from tests.conftest import CSV_CORPUS, Project

pytestmark = pytest.mark.cli


def test_a_moved_project_reuses_all_it_has_made(
    distilled_films: Project, tiny_language_model: Path, tmp_path: Path
) -> None:
    moved = Project(distilled_films.path.rename(tmp_path / "moved"))
    source = {"kind": "files", "train": str(moved.path / "data/01_raw/films.csv")}
    moved.add_corpora(films={**CSV_CORPUS, "source": source})
    models = yaml.safe_load((moved.path / "conf/local/globals.yml").read_text())
    folder = shutil.copytree(tiny_language_model, tmp_path / "language models" / "renamed")
    models["language_model"]["model"] = str(folder)
    moved.write("conf/local/globals.yml", yaml.safe_dump(models))
    output = moved.kedro("run", "--pipeline=distill", "--params=corpus=films")
    assert "Running '" not in output
    assert output.count("nothing changed") == len(register_pipelines()["distill"].nodes)


def test_no_record_names_a_folder_of_this_machine(
    distilled_once: Project, tiny_language_model: Path
) -> None:
    records = list((distilled_once.path / "data").rglob("*.record.json"))
    assert len(records) > 30
    for record in records:
        text = record.read_text(encoding="utf-8")
        assert str(distilled_once.path) not in text, record
        assert str(tiny_language_model) not in text, record
