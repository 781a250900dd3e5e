"""One Ray cluster of four workers for all tests of the engine that a process runs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from take.engine.cluster import RayEngine
from take.engine.connection import connected
from take.engine.engine_settings import EngineSettings


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayEngine]:
    """Real worker processes, more than a small machine has cores."""
    settings = EngineSettings(kind="ray", workers=4, restarts=50)
    with connected(settings, tmp_path_factory.mktemp("project")) as engine:
        yield engine
