"""What the stages before distillation have made, and one choice from it."""

from __future__ import annotations

import pytest

from take.pipelines.distillation import nodes
from tests.pipelines.distillation_data import Made, make


@pytest.fixture(scope="session")
def made() -> Made:
    return make()


@pytest.fixture(scope="session")
def exam_choice(made: Made, tmp_path_factory: pytest.TempPathFactory) -> nodes.ChosenRows:
    return made.chosen(tmp_path_factory.mktemp("searches"))
