"""The engine of a run is connected to before it, and let go after it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from kedro.runner import ParallelRunner, SequentialRunner

from take.engine import current
from take.engine.local import LocalEngine
from take.errors import InputError
from take.hooks import EngineHooks


def hooks(tmp_path: Path, engine: dict[str, Any]) -> EngineHooks:
    made = EngineHooks()
    loader = type("Loader", (dict,), {"runtime_params": {"engine": engine}})(globals={})
    made.after_context_created(SimpleNamespace(config_loader=loader, project_path=tmp_path))
    return made


@pytest.fixture
def connected(monkeypatch: pytest.MonkeyPatch) -> LocalEngine:
    """Stands for a cluster."""
    engine = LocalEngine(3)

    @contextmanager
    def connect(settings: Any, folder: Path) -> Iterator[LocalEngine]:
        yield engine

    monkeypatch.setattr("take.engine.connection.connected", connect)
    return engine


def test_a_runner_of_processes_is_refused(tmp_path: Path, connected: LocalEngine) -> None:
    made = hooks(tmp_path, {"kind": "ray"})

    with pytest.raises(InputError, match="cannot share Ray's workers"):
        made.before_pipeline_run({"runner": str(ParallelRunner())})
    assert current() is not connected
    made.before_pipeline_run({"runner": str(SequentialRunner())})
    assert current() is connected
    made.after_pipeline_run()
    assert current() is not connected


def test_an_interrupted_run_leaves_no_engine_to_the_next(
    tmp_path: Path, connected: LocalEngine
) -> None:
    made = hooks(tmp_path, {"kind": "ray"})
    made.before_pipeline_run({"runner": None})
    assert current() is connected

    made._settings = hooks(tmp_path, {})._settings
    made.before_pipeline_run({"runner": None})
    assert current() is not connected
