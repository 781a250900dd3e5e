"""Sinkhorn on held rows: the same bytes on every engine, and after workers died."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from take.encoder.embeddings import Embeddings, MappedVectors
from take.engine import engine_of_run
from take.engine.cluster import RayEngine, _pickled
from take.engine.local import LocalEngine
from take.rows.blocks import ArrayBlocks, rows_at
from take.transport import kernel as kernel_module
from take.transport.costs import TransportError
from take.transport.coupling import couple
from take.transport.kernel import GibbsKernel
from take.transport.sinkhorn import (
    SinkhornOptions,
    conditional_plan,
    entropic_plan,
    semi_relaxed_mass,
    transport_cost,
)
from tests.transport.conftest import Clouds, make_clouds

pytest.importorskip("ray")

N_ROWS, N_TARGETS, N_FEATURES, BLOCK_ROWS = 2_100, 60, 24, 64
OPTIONS = SinkhornOptions(memory_bytes=4 * BLOCK_ROWS * N_TARGETS * 9, block_rows=BLOCK_ROWS)


@pytest.fixture(scope="module")
def ray_engine(cluster: RayEngine) -> RayEngine:
    return cluster


@pytest.fixture(scope="module")
def clouds() -> Clouds:
    return make_clouds(N_ROWS, N_TARGETS, N_FEATURES)


@pytest.fixture(scope="module")
def corpus(clouds, tmp_path_factory) -> Embeddings:
    """Mapped from a file, as in a run; a class is some of its rows."""
    path = tmp_path_factory.mktemp("corpus") / "embeddings.safetensors"
    order = np.random.default_rng(1).permutation(2 * N_ROWS)[:N_ROWS]
    strings = np.zeros((2 * N_ROWS, N_FEATURES), dtype=np.float32)
    strings[order] = clouds.rows
    Embeddings(MappedVectors(strings), np.arange(2 * N_ROWS)[:, None]).save(path)
    return rows_at(Embeddings.load(path), order)


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Nine parts, so that workers have several."""
    monkeypatch.setattr("take.rows.blocks.PART_ROWS", 4 * BLOCK_ROWS)


@contextmanager
def killed_after(engine: RayEngine, seconds: float) -> Iterator[None]:
    """One worker is killed while the block runs."""
    import ray

    timer = threading.Timer(
        seconds, os.kill, (ray.get(engine.workers[1].process.remote()), signal.SIGKILL)
    )
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def solved(clouds, corpus, prior=None) -> tuple[bytes, ...]:
    """Everything that transport computes."""
    given = corpus, clouds.weights, clouds.targets
    plan = entropic_plan(*given, prior=prior, options=OPTIONS)
    blocks = conditional_plan(
        corpus, clouds.targets, plan.theta, plan.epsilon, prior, block_rows=BLOCK_ROWS
    )
    arrays = [plan.f, plan.g, plan.received, semi_relaxed_mass(*given, 0.05, BLOCK_ROWS, prior)]
    for start, shares, costs in blocks:
        arrays += [np.array(start), shares, costs]
    figures = np.array([plan.value, plan.iterations, transport_cost(*given, plan, prior)])
    return tuple(array.tobytes() for array in [*arrays, figures])


def on(engine, compute, *arguments):
    with engine_of_run(engine):
        return compute(*arguments)


@pytest.fixture(scope="module")
def expected(clouds, corpus):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("take.rows.blocks.PART_ROWS", 4 * BLOCK_ROWS)
        return on(LocalEngine(1), solved, clouds, corpus)


def test_cores_do_not_change_the_bytes(clouds, corpus, expected):
    assert on(LocalEngine(2), solved, clouds, corpus) == expected
    assert on(LocalEngine(3), solved, clouds, ArrayBlocks(clouds.rows)) == expected


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_workers_do_not_change_the_bytes(ray_engine, clouds, corpus, expected, workers):
    engine = RayEngine(ray_engine.workers[:workers])
    assert on(engine, solved, clouds, corpus) == expected


def test_a_prior_is_cut_with_the_rows(ray_engine, clouds, corpus):
    groups = np.random.default_rng(2).integers(0, 3, N_ROWS)
    coupling = couple(corpus, clouds.weights, groups, clouds.targets, 0.6)

    def whole(start, stop):
        return coupling(start, stop)

    found = [
        on(engine, solved, clouds, corpus, prior)
        for engine in (LocalEngine(1), LocalEngine(2), ray_engine)
        for prior in (coupling, whole)
    ]
    assert found == found[:1] * len(found)


def test_a_worker_killed_between_passes_changes_nothing(ray_engine, clouds, corpus, expected):
    import ray

    received = GibbsKernel.received
    passes = []

    def counted(self, theta):
        passes.append(1)
        if len(passes) in (2, 5):
            worker = ray_engine.workers[len(passes) % 4]
            os.kill(ray.get(worker.process.remote()), signal.SIGKILL)
        return received(self, theta)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(GibbsKernel, "received", counted)
        assert on(ray_engine, solved, clouds, corpus) == expected
    assert len(passes) > 5


def test_a_worker_killed_before_the_potentials_changes_nothing(
    ray_engine, clouds, corpus, expected
):
    """The sums of the last pass are lost with it."""
    import ray

    log_sums = GibbsKernel.log_sums

    def killing(self, theta):
        os.kill(ray.get(ray_engine.workers[0].process.remote()), signal.SIGKILL)
        return log_sums(self, theta)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(GibbsKernel, "log_sums", killing)
        assert on(ray_engine, solved, clouds, corpus) == expected


@pytest.mark.parametrize("seconds", [0.1, 0.4])
def test_a_worker_killed_during_a_pass_changes_nothing(
    ray_engine, clouds, corpus, expected, seconds
):
    with killed_after(ray_engine, seconds):
        assert on(ray_engine, solved, clouds, corpus) == expected


def test_the_vectors_do_not_travel(clouds, corpus, monkeypatch):
    """Of a mapped corpus a part has the place and its row numbers, and nothing of the targets."""
    sizes, engine = [], LocalEngine(1)
    hold = LocalEngine.hold

    def measured(self, parts):
        sizes.extend(len(_pickled(part)) for part in parts)
        return hold(self, parts)

    monkeypatch.setattr(LocalEngine, "hold", measured)
    on(engine, solved, clouds, corpus)
    part_rows = 4 * BLOCK_ROWS
    assert len(sizes) == 2 * -(-N_ROWS // part_rows)
    assert max(sizes) < (8 + 4) * part_rows + 2_000 < 4 * part_rows * N_FEATURES


def test_a_part_is_pickled_without_what_it_computed(clouds):
    part = kernel_module.KernelRows(
        clouds.corpus,
        clouds.weights,
        None,
        first=0,
        epsilon=0.05,
        kept_blocks=4,
        block_rows=64,
    )
    before = len(_pickled(part))
    targets = kernel_module.Targets(clouds.targets, np.ones(N_TARGETS))
    potentials = kernel_module.Potentials(np.zeros(N_TARGETS), np.ones(N_TARGETS, np.float32))
    part.log_sums(targets, potentials)
    assert len(_pickled(part)) == before


def test_a_row_without_any_target_is_named_by_its_number_in_the_corpus(ray_engine, clouds, corpus):
    density = np.ones((N_ROWS, N_TARGETS), np.float32)
    density[[777, 2_000]] = 0

    def prior(start, stop):
        return density[start:stop]

    for engine in (LocalEngine(2), ray_engine):
        with pytest.raises(TransportError, match="corpus row 777"):
            on(engine, solved, clouds, corpus, prior)
