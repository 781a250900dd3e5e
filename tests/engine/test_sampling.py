"""Rows of a tiny fine-tuned model, generated here and on the workers of a real Ray cluster."""

from __future__ import annotations

import os
import pickle
import shutil
import signal
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from take.engine import engine_of_run
from take.engine.cluster import RayEngine
from take.errors import InputError
from take.generation.finetuning.adapter import save_tuned, trainable
from take.generation.finetuning.fine_tuning_settings import FineTuningSettings
from take.generation.language_models import LanguageModel
from take.generation.sampling.batches import RowSource, TunedModel, WriteRows
from take.generation.sampling.rows import LengthBounds, RowNumbers, SamplingSettings
from take.generation.sampling.writer import RowStore, RowWriter, row_key
from take.generation.template import Template
from take.generation.vocabulary import Vocabulary
from tests.generation.tiny import saved

pytestmark = pytest.mark.tiny_lm

LABELS = ["negative", "positive"]
BOUNDS = LengthBounds(shortest=2, longest=40)
WANTED = (RowNumbers(0, 0, 60), RowNumbers(1, 0, 41))
FEW = (RowNumbers(0, 0, 20), RowNumbers(1, 0, 9))
TEXTS = ["a warm and funny film", "the plot is dull, the jokes are worse", "slight work ."]


class World:
    """A language model, its adapter, and what was generated with them."""

    def __init__(self, folder: Path, task: str = "single", **changes: object) -> None:
        self.language_model: LanguageModel = saved("llama", folder)
        self.tuned = folder / "tuned"
        settings = FineTuningSettings(method="lora")
        save_tuned(
            trainable(self.language_model.load_model(), settings), self.language_model, self.tuned
        )
        self.settings = SamplingSettings(batch_rows=8, seed=3, **changes)
        self.template = Template(self.language_model, LABELS, task, 50)
        columns = [TEXTS] * len(self.template.columns)
        self.vocabulary = Vocabulary.of(columns, self.template)

    def writer(self) -> RowWriter:
        given = (self.template, BOUNDS, self.settings, self.vocabulary)
        return RowWriter.of(self.language_model, self.tuned, *given)

    @property
    def parts(self) -> Path:
        prompts = self.template.prompts
        given = (self.tuned, prompts, BOUNDS, self.settings, self.vocabulary)
        return self.language_model.work_folder(row_key(self.language_model, *given))

    def files(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in sorted(self.parts.glob("class-*.parquet"))}

    def made(
        self, engine: RayEngine | None, wanted: tuple[RowNumbers, ...] = WANTED
    ) -> tuple[dict[str, bytes], int]:
        """The files of rows generated from nothing, and how many tokens were written."""
        shutil.rmtree(self.parts, ignore_errors=True)
        writer = self.writer()
        with engine_of_run(engine) if engine else nullcontext():
            rows = writer.read_all(wanted)
        numbers = rows.groupby("label")["index"].apply(list).tolist()
        assert numbers == [list(range(stop)) for _, _, stop in wanted]
        report = writer.report(self.language_model, rows.assign(reason=""))
        assert report.tokens_written > 0
        assert writer.seconds > 0
        assert ("_decoder" in vars(writer._job)) is (engine is None)  # loaded where it is used
        return self.files(), writer.tokens


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="module")
def local(world: World) -> tuple[dict[str, bytes], int]:
    return world.made(None)


@pytest.mark.parametrize("count", [1, 2, 4])
def test_workers_write_the_bytes_of_this_process(
    cluster: RayEngine, world: World, local: tuple[dict[str, bytes], int], count: int
) -> None:
    assert world.made(RayEngine(cluster.workers[:count])) == local
    assert len(local[0]) == 14


@pytest.mark.parametrize(
    ("decoder", "task"), [("openvino", "single"), ("torch", "single"), ("openvino_int8", "pair")]
)
def test_every_decoder_writes_the_bytes_of_this_process(
    cluster: RayEngine, tmp_path: Path, decoder: str, task: str
) -> None:
    world = World(tmp_path, task, decoder=decoder)
    assert world.made(RayEngine(cluster.workers[:2]), FEW) == world.made(None, FEW)


def test_tokens_are_those_of_the_steps(world: World, local: tuple[dict[str, bytes], int]) -> None:
    source = RowSource(
        TunedModel(world.language_model, world.tuned, world.vocabulary),
        *(world.template, BOUNDS, world.settings, world.vocabulary),
    )
    job, counted = WriteRows.of(source), []
    job.on_step = lambda n_tokens, n_rows: counted.append((n_tokens, n_rows))
    for rows in WANTED:
        job(rows)
    assert np.sum(counted, axis=0).tolist() == [local[1], 101]


def test_a_killed_worker_s_batches_are_generated_by_its_replacement(
    cluster: RayEngine,
    world: World,
    local: tuple[dict[str, bytes], int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import ray

    engine = RayEngine(cluster.workers[:2])
    process = ray.get(engine.workers[0].process.remote())
    add, seen = RowStore.add, []

    def add_and_kill(store: RowStore, rows: pd.DataFrame) -> None:
        add(store, rows)
        seen.append(rows)
        if len(seen) == 3:
            os.kill(process, signal.SIGKILL)

    monkeypatch.setattr(RowStore, "add", add_and_kill)
    assert world.made(engine) == local
    assert ray.get(engine.workers[0].process.remote()) != process


def test_what_one_engine_began_another_ends(
    cluster: RayEngine,
    world: World,
    local: tuple[dict[str, bytes], int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class KilledError(Exception):
        pass

    add, seen = RowStore.add, []

    def add_or_die(store: RowStore, rows: pd.DataFrame) -> None:
        if len(seen) == 5:
            raise KilledError
        add(store, rows)
        seen.append(rows)

    monkeypatch.setattr(RowStore, "add", add_or_die)
    with pytest.raises(KilledError):
        world.made(RayEngine(cluster.workers[:2]))
    monkeypatch.undo()
    assert len(world.files()) == 5
    rows = world.writer().read_all(WANTED)
    assert (world.files(), len(rows)) == (local[0], 101)


def test_a_worker_without_the_model_is_an_error_before_anything_is_generated(
    cluster: RayEngine, tmp_path: Path
) -> None:
    world = World(tmp_path)
    writer = world.writer()  # has read all that decides the rows
    (tmp_path / "llama/model.safetensors").unlink()
    with (
        engine_of_run(RayEngine(cluster.workers[:1])),
        pytest.raises(InputError, match="has no config.json with safetensors weights") as found,
    ):
        writer.read_all(WANTED)
    assert "On worker" in "".join(found.value.__notes__)
    assert world.files() == {}


def test_a_worker_with_another_adapter_is_an_error(cluster: RayEngine, tmp_path: Path) -> None:
    world = World(tmp_path)
    writer = world.writer()
    (world.tuned / "adapter_model.safetensors").unlink()
    with (
        engine_of_run(RayEngine(cluster.workers[:1])),
        pytest.raises(InputError, match="the adapter has no adapter_model.safetensors"),
    ):
        writer.read_all(WANTED)


def test_the_job_is_small_and_the_same_whatever_is_loaded(world: World) -> None:
    """Its pickle is the key under which workers keep the model."""
    writer = world.writer()
    before = pickle.dumps(writer._job)
    shutil.rmtree(world.parts, ignore_errors=True)
    writer.read(0, 0, 8)
    _ = world.language_model.identity, world.language_model.folder
    job = pickle.loads(pickle.dumps(writer._job))
    assert pickle.dumps(world.writer()._job) == before
    assert len(before) < 5000
    assert "_decoder" in vars(writer._job)
    assert "_decoder" not in vars(job)


def test_a_worker_with_other_libraries_is_an_error(world: World) -> None:
    source = RowSource(world.language_model.load_model, world.template, BOUNDS, world.settings)
    job = pickle.loads(pickle.dumps(WriteRows(source, "of another version")))
    with pytest.raises(InputError, match=r"worker .*: it has other code or libraries"):
        job.prepare()
    assert "_decoder" not in vars(job)
