"""The engines: order, bytes, errors, workers that die."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from take.engine import Engine, current, engine_of_run
from take.engine.cluster import RayEngine
from take.engine.connection import connected
from take.engine.engine_settings import EngineSettings
from take.engine.local import LocalEngine
from take.engine.threads import numerical_threads, one_thread
from take.errors import InputError
from tests.engine.jobs import (
    Counter,
    Divides,
    Fatal,
    Large,
    Outer,
    Product,
    Refuses,
    Square,
    ThreadsOf,
    Unprepared,
)


def engines(cluster: RayEngine) -> Iterator[Engine]:
    yield from (LocalEngine(1), LocalEngine(2), LocalEngine(3))
    yield from (RayEngine(cluster.workers[:n]) for n in (1, 2, 4))


def test_results_are_in_order_and_the_same_with_any_engine(cluster: RayEngine):
    products = [list(engine.map(Product(), range(9))) for engine in engines(cluster)]

    assert all(found == products[0] for found in products)
    for engine in engines(cluster):
        assert [square for square, _ in engine.map(Square(), range(40))] == [
            i * i for i in range(40)
        ]


def test_all_workers_are_used(cluster: RayEngine):
    assert len({worker for _, worker in cluster.map(Square(), range(40))}) == 4


def test_items_are_read_as_workers_become_free(cluster: RayEngine):
    for engine in (LocalEngine(2), RayEngine(cluster.workers[:2])):
        endless = engine.map(Square(), itertools.count())

        assert [square for square, _ in itertools.islice(endless, 5)] == [0, 1, 4, 9, 16]
        endless.close()


def test_numbers_are_computed_on_one_thread_and_other_jobs_on_those_of_the_run(cluster: RayEngine):
    before = numerical_threads()

    for engine in engines(cluster):
        assert set(engine.map(ThreadsOf("one"), range(4))) == {1}
        assert set(engine.map(ThreadsOf("run"), range(4))) == {before}
    assert numerical_threads() == before
    with one_thread(), one_thread():
        assert numerical_threads() == 1
    assert numerical_threads() == before


def test_an_error_of_a_job_is_raised_as_it_is(cluster: RayEngine):
    for engine in engines(cluster):
        with pytest.raises(InputError) as raised:
            list(engine.map(Refuses(), range(9)))
        assert str(raised.value) == "here: item 3. Fix: leave it out."


def test_a_job_that_maps_does_so_where_it_is(cluster: RayEngine):
    for engine in (LocalEngine(2), RayEngine(cluster.workers[:2])):
        assert list(engine.map(Outer(), range(4))) == [[], [0], [0, 1], [0, 1, 4]]


def test_a_killed_worker_is_replaced_and_its_items_are_done_again(
    cluster: RayEngine, tmp_path: Path
):
    found = list(cluster.map(Fatal(at=7, once=tmp_path / "died"), range(30)))

    assert (tmp_path / "died").exists()
    assert found == list(range(30))


def test_parts_stay_with_their_workers_and_answer_in_order(cluster: RayEngine):
    for engine in engines(cluster):
        with engine.hold([Counter(start) for start in range(6)]) as held:
            answers = [list(held.call("total", [1, 2])) for _ in range(2)]

        assert [total for total, _ in answers[0]] == [3, 4, 5, 6, 7, 8]
        assert answers[0] == answers[1], "each part answers from the process it is in"


def test_the_parts_of_a_killed_worker_are_made_again(cluster: RayEngine, tmp_path: Path):
    with cluster.hold([Counter(start) for start in range(6)]) as held:
        answers = [list(held.call("total", [1], tmp_path)) for _ in range(2)]

    assert (tmp_path / "died").exists()
    assert [[total for total, _ in answer] for answer in answers] == [[1, 2, 3, 4, 5, 6]] * 2


def test_an_error_that_nobody_expects_comes_with_its_traceback(cluster: RayEngine):
    with pytest.raises(ZeroDivisionError) as raised:
        list(cluster.map(Divides(), range(3)))
    assert "in __call__" in "".join(raised.value.__notes__)


def test_a_worker_without_the_model_is_an_error_before_work_starts(
    cluster: RayEngine, tmp_path: Path
):
    job = Unprepared(tmp_path / "model", tmp_path / "done")

    with pytest.raises(InputError, match=r"there is no such model. Fix: copy it.") as raised:
        list(cluster.map(job, range(4)))
    assert not (tmp_path / "done").exists()
    assert "On worker" in "".join(raised.value.__notes__)

    (tmp_path / "model").touch()
    assert list(cluster.map(job, range(4))) == [0, 1, 2, 3]


def test_the_engine_of_a_run_is_that_of_its_threads():
    assert isinstance(current(), LocalEngine)
    engine = LocalEngine(3)
    with engine_of_run(engine):
        assert current() is engine
        assert set(LocalEngine(2).map(_Current(), range(4))) != {engine}
    assert current() is not engine


class _Current(Square):
    def __call__(self, item: int) -> Engine:
        return current()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"address": "127.0.0.1:1"}, "engine.address: nothing answers at 127.0.0.1:1"),
        ({"address": "ray"}, "engine.address: 'ray' is not an address"),
        ({"address": "ray://head:10001"}, "engine.address: 'ray://head:10001' is not an address"),
        ({"address": "no-such-host.invalid:6379"}, "engine.address: nothing answers at"),
    ],
)
def test_an_address_without_a_cluster_is_refused_at_once(
    settings: dict, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    import ray

    # As in a process without the cluster of these tests, which goes on.
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "shutdown", lambda: None)
    with (
        pytest.raises(InputError, match=message),
        connected(EngineSettings(kind="ray", **settings), tmp_path),
    ):
        pass


def test_one_process_has_one_cluster(cluster: RayEngine, tmp_path: Path):
    with (
        pytest.raises(InputError, match="already connected to a Ray cluster"),
        connected(EngineSettings(kind="ray"), tmp_path),
    ):
        pass


def test_results_larger_than_the_object_store_pass_through_it(cluster: RayEngine):
    engine = RayEngine(cluster.workers[:2])

    for number, found in enumerate(engine.map(Large(), range(12))):
        assert np.array_equal(found[[0, -1]], [number, number])


def test_a_worker_that_always_dies_is_an_error_that_ends(tmp_path: Path, cluster: RayEngine):
    """In a process of its own: this one has a cluster whose workers may be replaced."""
    import subprocess
    import sys

    program = f"""
from pathlib import Path
from take.engine import EngineError
from take.engine.connection import connected
from take.engine.engine_settings import EngineSettings
from tests.engine.jobs import Fatal

settings = EngineSettings(kind="ray", workers=1, restarts=1)
with connected(settings, Path({str(tmp_path)!r})) as engine:
    try:
        print(list(engine.map(Fatal(at=2), range(5))))
    except EngineError as error:
        print(error)
"""
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=root, capture_output=True, text=True, timeout=120
    )
    assert "A worker of the Ray cluster died again and again" in done.stdout, done.stderr
    assert list(tmp_path.iterdir()) == [], "the marker is removed"
