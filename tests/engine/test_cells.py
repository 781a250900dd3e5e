"""Cells of a grid on workers: the scores, failures and stored cells of one process."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pytest

from take.engine import engine_of_run
from take.engine.cluster import RayEngine
from take.engine.local import LocalEngine
from take.evaluation.cells import CellResult
from take.evaluation.grid_settings import LearnerChoices
from take.evaluation.sealed_split import SealedSplit
from take.evaluation.training import CellJob
from take.learners import Shared
from tests.evaluation.tiny import World

pytest.importorskip("ray")

METHODS, LEARNERS = "random kmeans full", "lr lr_phi char_lr textcnn transformer_lpft"
MEASURED = {"training_seconds", "prediction_seconds", "peak_megabytes", "set_seconds"}


def scores(cells: list[CellResult]) -> list[dict[str, Any]]:
    return [cell.model_dump(exclude=MEASURED) for cell in cells]


def stored(folder: Path) -> set[str]:
    return {path.name for path in (folder / "cells").glob("*.json")}


@pytest.fixture(scope="module")
def in_process(world: World, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    folder = tmp_path_factory.mktemp("local")
    with engine_of_run(LocalEngine()):
        return folder, world.grid(folder).run([world.experiment(METHODS, LEARNERS)])


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_workers_find_the_scores_of_one_process(
    world: World, cluster: RayEngine, in_process: tuple[Path, Any], tmp_path: Path, workers: int
) -> None:
    local, cells = in_process
    assert [cell.error for cell in cells if cell.error] == []
    with engine_of_run(RayEngine(cluster.workers[:workers])):
        grid = world.grid(tmp_path)
        found = grid.run([world.experiment(METHODS, LEARNERS)])
    assert scores(found) == scores(cells)
    assert stored(tmp_path) == stored(local)
    for cell in found:
        expected = world.grid(local).store.predictions(cell.fingerprint)
        assert (grid.store.predictions(cell.fingerprint) == expected).all()


def test_what_is_stored_is_not_computed_again(
    world: World, cluster: RayEngine, in_process: tuple[Path, Any]
) -> None:
    folder, cells = in_process
    times = {path: path.stat().st_mtime_ns for path in (folder / "cells").glob("*")}
    with engine_of_run(cluster):
        found = world.grid(folder).run([world.experiment(METHODS, LEARNERS)])
    assert [cell.model_dump(exclude={"set_seconds"}) for cell in found] == [
        cell.model_dump(exclude={"set_seconds"}) for cell in cells
    ]
    assert {path: path.stat().st_mtime_ns for path in (folder / "cells").glob("*")} == times


def test_equal_cells_are_computed_once(world: World, cluster: RayEngine, tmp_path: Path) -> None:
    """A method that draws nothing makes the same rows for every seed."""
    with engine_of_run(cluster):
        cells = world.grid(tmp_path, sets=6).run([world.experiment("distilled", "lr char_lr")])
    assert len(cells) == 12
    assert len(stored(tmp_path)) == 2
    assert {cell.set_seed for cell in cells} == set(range(6))
    assert len({(cell.learner, cell.training_seconds) for cell in cells}) == 2


def test_failures_are_recorded_as_in_one_process(
    world: World, cluster: RayEngine, tmp_path: Path
) -> None:
    """A learner that cannot be made; and on a worker, evaluation rows with a strange label."""
    choices = LearnerChoices.model_validate(
        {"settings": {"textcnn": {"kind": "textcnn", "words": {"source": "none.txt"}}}}
    )
    good = world.experiment("random", "textcnn lr")
    strange = np.full(len(good.split), 7)
    bad = replace(good, split=SealedSplit(good.split._texts, strange, good.split.n_classes))
    found = {}
    for engine in (LocalEngine(), cluster):
        folder = tmp_path / type(engine).__name__
        with engine_of_run(engine):
            cells = world.grid(folder, choices=choices, trainings=1).run([good, bad])
        found[type(engine)] = scores(cells)
        assert len(stored(folder)) == 2
    assert found[LocalEngine] == found[RayEngine]
    errors = [(cell["learner"], cell["error"] or "") for cell in found[RayEngine]]
    assert [learner for learner, error in errors if not error] == ["lr", "lr"]
    assert sum("none.txt" in error for _, error in errors) == 4
    assert sum("run from" in error for _, error in errors) == 2


def test_models_are_not_in_a_job(world: World, tmp_path: Path) -> None:
    experiment, grid = world.experiment("random", LEARNERS), world.grid(tmp_path)
    job = CellJob(world.choices, experiment.shared, experiment.split, grid.store)
    before = len(cloudpickle.dumps(job))
    with engine_of_run(LocalEngine()):
        grid.run([experiment])
    for name in LEARNERS.split():
        job.learner(name)
    assert experiment.shared._pretrained
    assert experiment.shared._vectors
    pickled = cloudpickle.dumps(job)
    assert len(pickled) < before + 2000  # words that were counted since
    opened = cloudpickle.loads(pickled)
    assert opened.split.identity == experiment.split.identity
    assert opened.shared._pretrained == {}
    assert opened.learner("lr").identity == job.learner("lr").identity
    assert opened.store.folder == tmp_path


def test_a_process_loads_weights_once() -> None:
    first, second = (cloudpickle.loads(cloudpickle.dumps(Shared())) for _ in range(2))
    assert first._pretrained is second._pretrained
    assert first._vectors is second._vectors
    assert first.counts is not second.counts
