"""Provenance under every runner: a pipeline of four nodes on artifacts in a temporary folder."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from kedro.framework.hooks.manager import _create_hook_manager, _register_hooks
from kedro.io import DataCatalog, DatasetError
from kedro.pipeline import Pipeline, node
from kedro.runner import AbstractRunner, SequentialRunner, ThreadRunner

from take.datasets.artifact import Artifact
from take.datasets.folders import StoreFolderDataset, WorkFolderDataset
from take.datasets.sources import ProvenanceDataset
from take.errors import InputError
from take.reuse.hooks import Checked, Identified, ProvenanceHooks
from take.reuse.records import damage, read_record
from take.reuse.runner import ReusingRunner

CALLS: list[str] = []
NAMES = ("left", "left_copy", "right", "both")


def make_left(source: str, seed: int) -> tuple[str, str]:
    CALLS.append("make_left")
    return f"{source} {seed}", f"{source} {seed}"


def make_right(source: str) -> str:
    CALLS.append("make_right")
    time.sleep(0.05)
    return source.upper()


def join(left: str, right: str) -> str:
    CALLS.append("join")
    return f"{left} {right}"


def show(both: str, right: str) -> None:
    CALLS.append("show")


PIPELINE = Pipeline(
    [
        node(make_left, ["source", "params:seed"], ["left", "left_copy"], name="make_left"),
        node(make_right, "source", "right", name="make_right"),
        node(join, ["left", "right"], "both", name="join"),
    ]
)


@pytest.fixture(autouse=True)
def no_calls() -> Iterator[None]:
    CALLS.clear()
    yield
    assert not [thread for thread in threading.enumerate() if "_sample" in thread.name]


def text(folder: Path, name: str) -> Artifact:
    return Artifact(
        filepath=str(folder / "films" / f"{name}.txt"), dataset="take.datasets.folders.TextDataset"
    )


def catalog(folder: Path, seed: int = 3) -> DataCatalog:
    found = DataCatalog({name: text(folder, name) for name in ("source", *NAMES)})
    found["params:seed"] = seed
    return found


def run(runner: AbstractRunner, folder: Path, seed: int = 3, pipeline: Pipeline = PIPELINE) -> None:
    hooks = _create_hook_manager()
    _register_hooks(hooks, (ProvenanceHooks(),))
    data = catalog(folder, seed)
    given = {"run_params": {"runner": str(runner)}, "pipeline": pipeline, "catalog": data}
    hooks.hook.before_pipeline_run(**given)
    try:
        runner.run(pipeline, data, hooks)
    except Exception as error:
        hooks.hook.on_pipeline_error(error=error, **given)
        raise
    hooks.hook.after_pipeline_run(run_result={}, **given)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    text(tmp_path, "source").save("raw")
    return tmp_path


@pytest.mark.parametrize("runner", [SequentialRunner, ThreadRunner, ReusingRunner])
def test_every_runner_records_what_the_default_one_reuses(
    folder: Path, runner: type[AbstractRunner], caplog: pytest.LogCaptureFixture
) -> None:
    run(runner(), folder)
    records = {name: read_record(text(folder, name).path) for name in NAMES}
    origins = {name: record.made_from for name, record in records.items() if record}
    assert {name: origin.node for name, origin in origins.items() if origin} == {
        "left": "make_left",
        "left_copy": "make_left",
        "right": "make_right",
        "both": "join",
    }
    left, right = records["left"], records["right"]
    assert left is not None
    assert left.made_from is not None
    assert left.made_from.parameters == {"seed": 3}
    assert right is not None
    assert right.cost is not None
    assert right.cost.seconds >= 0.05
    assert [damage(text(folder, name).path) for name in NAMES] == [""] * 4
    CALLS.clear()
    with caplog.at_level(logging.INFO, "take"):
        run(ReusingRunner(), folder)
    assert CALLS == []
    assert caplog.text.count("nothing changed") == 3
    run(ReusingRunner(), folder, seed=4)
    assert CALLS == ["make_left", "join"]
    assert "parameter seed changed from 3 to 4" in caplog.text


@pytest.mark.parametrize("runner", [SequentialRunner, ThreadRunner, ReusingRunner])
def test_a_node_that_fails_leaves_no_origin(folder: Path, runner: type[AbstractRunner]) -> None:
    failing = Pipeline(
        [node(lambda source: (source, 3), "source", ["left", "left_copy"], name="make_left")]
    )
    with pytest.raises(Exception, match="left_copy"):  # a text dataset saves no number
        run(runner(), folder, pipeline=failing)
    record = read_record(text(folder, "left").path)
    assert record is not None
    assert record.made_from is None


@pytest.mark.parametrize("runner", [SequentialRunner, ThreadRunner, ReusingRunner])
def test_every_runner_refuses_inputs_that_cannot_be_used(
    folder: Path, runner: type[AbstractRunner]
) -> None:
    joined = PIPELINE.only_nodes("join")
    with pytest.raises(InputError, match="artifact 'left' has not been made yet"):
        run(runner(), folder, pipeline=joined)
    run(runner(), folder)
    text(folder, "source").save("other")
    shown = Pipeline([node(show, ["left", "source"], None)])
    with pytest.raises(InputError, match="'left' was made from another version of 'source'"):
        run(runner(), folder, pipeline=shown)
    text(folder, "left").path.write_text("altered")
    with pytest.raises(Exception, match="left.txt was altered"):
        run(runner(), folder, pipeline=joined)


def test_the_same_inputs_for_other_arguments_are_a_change(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run(ReusingRunner(), folder)
    swapped = Pipeline([node(join, ["right", "left"], "both", name="join")])
    with caplog.at_level(logging.INFO, "take"):
        run(ReusingRunner(), folder, pipeline=swapped)
    assert "Running 'join': code of join (wiring) changed" in caplog.text
    assert text(folder, "both").load() == "RAW raw 3"


def test_an_interrupted_run_does_not_count_for_the_next(folder: Path) -> None:
    hooks = ProvenanceHooks()
    (made,) = PIPELINE.only_nodes("make_left").nodes
    hooks.before_dataset_loaded(made)  # Kedro calls no hook when a user interrupts a node
    hooks.before_pipeline_run(PIPELINE, catalog(folder))
    assert hooks._running == {}


def test_a_node_without_outputs_runs(folder: Path) -> None:
    run(
        SequentialRunner(),
        folder,
        pipeline=PIPELINE + Pipeline([node(show, ["both", "right"], None)]),
    )
    assert CALLS[-1] == "show"


def test_the_contract_of_a_dataset_is_a_protocol(folder: Path) -> None:
    assert isinstance(text(folder, "left"), Identified)
    assert isinstance(WorkFolderDataset(filepath="x"), Identified)
    assert not isinstance(StoreFolderDataset(filepath="x"), Identified | Checked)


def test_provenance_of_artifacts_without_an_origin_is_refused(folder: Path) -> None:
    dataset = ProvenanceDataset(folder="films", artifacts=["source"])
    dataset.bind(catalog(folder))
    with pytest.raises(DatasetError, match="no record says what the artifacts were made from"):
        dataset.load()
