"""A small corpus in a throw-away project, for driving the real `kedro` command."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.conftest import CSV_CORPUS, Project, single_text_csv
from tests.generator import tiny

# The rows of this corpus are near copies of each other, so near copies are let through.
GENERATION = {
    "fine_tuning": {
        "method": "full",
        "learning_rate": 0.01,
        "token_budget": 20_000,
        "max_epochs": 10,
        "held_out_rows": 16,
        "checkpoint_seconds": 0.2,
    },
    "sampling": {"rows": 24, "tries": 20.0, "batch_rows": 32, "temperature": 0.7},
    "screening": {
        "near_copy_overlap": 1.0,
        "near_copy_cosine": None,
        "contradiction_threshold": None,
    },
    "quality": {},
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
    project.add_corpora(films=CSV_CORPUS)
    project.write("data/01_raw/films.csv", single_text_csv(300))
    models = {
        "encoder": {"backend": "torch"},
        "language_model": {"model": str(tiny_language_model)},
    }
    project.write("conf/local/globals.yml", yaml.safe_dump(models))
    project.write("conf/local/parameters.yml", yaml.safe_dump({"generation": GENERATION}))
    return project
