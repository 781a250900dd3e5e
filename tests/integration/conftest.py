"""A small corpus in a throw-away project, for driving the real `kedro` command."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from take.audit.privacy.verdict import Limits
from tests.conftest import CSV_CORPUS, ROOT, Project, single_text_csv
from tests.generation import tiny

GENERATION = {
    "fine_tuning": {
        "method": "full",
        "learning_rate": 0.01,
        "token_budget": 20_000,
        "max_epochs": 10,
        "validation_rows": 16,
        "checkpoint_seconds": 0.2,
        "seed": 2,  # with some, so few updates of so small a model do not train it to end a text
    },
    "sampling": {"rows": 24, "tries": 20.0, "batch_rows": 32, "temperature": 0.7},
    "screening": {"near_copy_cosine": None, "contradiction_threshold": None},
    "verifier": {"kind": "probe"},
    "quality": {},
}

# As in conf/base, but for a pool of twelve rows a class and few rows to examine.
DISTILLATION = {
    "budget": "${runtime_params:budget,5/class}",
    "selection": {
        "selector": "exam",
        "exam": {
            "exam_rows": 40,
            "validation_rows": 20,
            "fewest_rows": 20,
            "max_sweeps": 4,
            "playoff": {"recipes": []},
        },
    },
    "description": {"sample_rows": 100, "lineage_rows": 10},
}


# These rows are near copies of each other, so that only the same words make one, and a model of
# two layers has learned them by heart.
AUDIT = {
    "copies": {"near_copy_overlap": 1.0},
    "gate": {
        "limits": {
            name: None
            for name in Limits.model_fields
            if name.endswith("_block") and name != "pii_block"
        }
    },
}


@pytest.fixture(scope="session")
def tiny_language_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A two-layer Llama with random weights, which learns this corpus in seconds."""
    folder = tmp_path_factory.mktemp("language_model")
    tiny.saved("llama", folder)
    return folder / "llama"


@pytest.fixture
def films(project: Project, tiny_language_model: Path) -> Project:
    """A corpus of 300 rows, embedded with the real weights in torch, which is quickest to load."""
    set_up_films(project, tiny_language_model, single_text_csv(300))
    return project


def set_up_films(project: Project, language_model: Path, csv: str, **fine_tuning: int) -> None:
    """The corpus, the models and quick settings, as a user writes them."""
    project.add_corpora(films=CSV_CORPUS)
    project.write("data/01_raw/films.csv", csv)
    models = {
        "encoder": {"backend": "torch"},
        "language_model": {"model": str(language_model)},
    }
    project.write("conf/local/globals.yml", yaml.safe_dump(models))
    tuned = {**GENERATION["fine_tuning"], **fine_tuning}
    settings = {
        "generation": {**GENERATION, "fine_tuning": tuned},
        "distillation": DISTILLATION,
        "audit": AUDIT,
    }
    project.write("conf/local/parameters.yml", yaml.safe_dump(settings))


def new_project(path: Path, mlflow_db: Path) -> Project:
    """What the fixture `project` makes, for a longer time than one test."""
    for folder in ("conf", "src"):
        shutil.copytree(ROOT / folder, path / folder, ignore=shutil.ignore_patterns("local"))
    for folder in ("conf/local", "data"):
        (path / folder).mkdir()
    for name in ("pyproject.toml", ".telemetry"):
        shutil.copy(ROOT / name, path / name)
    shutil.copy(mlflow_db, path / "mlflow.db")
    return Project(path)


def noisy_csv(n_rows: int) -> str:
    """The rows of `single_text_csv`, every seventh with the other label: an exam to learn for."""
    header, *lines = single_text_csv(n_rows).splitlines()
    for i in range(0, n_rows, 7):
        lines[i] = f"{lines[i][:-1]}{1 - int(lines[i][-1])}"
    return "\n".join([header, *lines]) + "\n"


@pytest.fixture(scope="session")
def distilled_once(
    tmp_path_factory: pytest.TempPathFactory, fresh_mlflow_db: Path, tiny_language_model: Path
) -> Project:
    """One `kedro run --pipeline=distill` for all tests that only look at what it made."""
    project = new_project(tmp_path_factory.mktemp("distilled"), fresh_mlflow_db)
    # This seed leaves `exam` something to gain.
    set_up_films(project, tiny_language_model, noisy_csv(300), validation_rows=60, seed=5)
    project.kedro("run", "--pipeline=distill", "--params=corpus=films")
    return project


@pytest.fixture(scope="session")
def embedded_once(
    tmp_path_factory: pytest.TempPathFactory, fresh_mlflow_db: Path, tiny_language_model: Path
) -> Project:
    """One `kedro run --pipeline=embedding` for all tests that begin after it."""
    project = new_project(tmp_path_factory.mktemp("embedded"), fresh_mlflow_db)
    set_up_films(project, tiny_language_model, single_text_csv(300))
    project.kedro("run", "--pipeline=embedding", "--params=corpus=films")
    return project


@pytest.fixture
def embedded(embedded_once: Project, tmp_path: Path) -> Project:
    """A copy of it, to run again."""
    shutil.copytree(embedded_once.path, tmp_path / "copy")
    return Project(tmp_path / "copy")


@pytest.fixture
def distilled_films(distilled_once: Project, fresh_mlflow_db: Path, tmp_path: Path) -> Project:
    """A copy of it, to run again; quicker without MLflow, whose files know their place anyway."""
    path = tmp_path / "copy"
    shutil.copytree(distilled_once.path, path, ignore=shutil.ignore_patterns("mlflow.db", "mlart*"))
    shutil.copy(fresh_mlflow_db, path / "mlflow.db")
    copied = Project(path)
    untracked = {"pipelines": ["distill", "distillation", "redistil"]}
    copied.write(
        "conf/local/mlflow.yml", yaml.safe_dump({"tracking": {"disable_tracking": untracked}})
    )
    return copied
