"""A small corpus in a throw-away project, for driving the real `kedro` command."""

from __future__ import annotations

import pytest

from tests.conftest import CSV_CORPUS, Project, single_text_csv


@pytest.fixture
def films(project: Project) -> Project:
    """A corpus of 300 rows, embedded with the real weights in torch, which is quickest to load."""
    project.add_corpora(films=CSV_CORPUS)
    project.write("data/01_raw/films.csv", single_text_csv(300))
    project.write("conf/local/globals.yml", "encoder: {backend: torch}\n")
    return project
