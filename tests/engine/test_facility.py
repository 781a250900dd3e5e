"""Facility location on held rows: the same rows and costs on every engine, after deaths, too."""

from __future__ import annotations

import os
import signal
from dataclasses import replace

import numpy as np
import pytest

from take.encoder.embeddings import Embeddings, MappedVectors
from take.engine import engine_of_run
from take.engine.cluster import RayEngine, _pickled
from take.engine.local import LocalEngine
from take.rows.blocks import rows_at
from take.selection.facility import facility, greedy_path
from take.selection.facility_costs import FacilityCosts
from take.selection.facility_rows import Choice, FacilityRows, Limits
from take.selection.facility_swaps import SwapSearch
from take.selection.problem import ClassProblem
from take.selection.selection_settings import SelectionSettings
from take.selection.selectors import random
from take.transport.costs import Candidates, Column
from take.transport.coupling import couple
from tests.selection.conftest import make_problem

pytest.importorskip("ray")

N_ROWS, N_CANDIDATES, BUDGET, N_FEATURES, PART_ROWS = 1_500, 90, 9, 16, 192
SETTINGS = SelectionSettings(block_rows=64)


@pytest.fixture(scope="module")
def ray_engine(cluster: RayEngine) -> RayEngine:
    return cluster


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Eight parts, a batch of a few candidates, and few leaders, so that every call is made."""
    monkeypatch.setattr("take.rows.blocks.PART_ROWS", PART_ROWS)
    monkeypatch.setattr("take.selection.facility.MOST_LEADERS", 20)
    monkeypatch.setattr("take.selection.facility.BATCH", 8)


@pytest.fixture(scope="module")
def problem(tmp_path_factory) -> ClassProblem:
    """Its corpus is mapped from a file, as in a run; a class is some of its rows."""
    made = make_problem(N_ROWS, N_CANDIDATES, BUDGET, N_FEATURES, seed=5)
    path = tmp_path_factory.mktemp("corpus") / "embeddings.safetensors"
    order = np.random.default_rng(1).permutation(2 * N_ROWS)[:N_ROWS]
    strings = np.zeros((2 * N_ROWS, N_FEATURES), dtype=np.float32)
    strings[order] = made.corpus.read(0, N_ROWS)
    Embeddings(MappedVectors(strings), np.arange(2 * N_ROWS)[:, None]).save(path)
    return replace(made, corpus=rows_at(Embeddings.load(path), order))


def solved(problem: ClassProblem, memory: int = 2**24) -> tuple[bytes, ...]:
    """The greedy path, and what swaps make of a random choice, which needs many."""
    given = problem.corpus, problem.weights, problem.pool, memory, 64
    added = problem.coupling.costs(0.1) if problem.coupling else None
    with FacilityCosts.of(*given, added) as costs:
        path = greedy_path(costs, 2 * BUDGET, problem.previous)
        search = SwapSearch(costs, random(problem, SETTINGS, 1).rows)
        search.run()
        ordered = greedy_path(costs, BUDGET, among=search.rows)
        assert search.swaps > 5
        arrays = [path.rows, path.costs, search.rows, ordered.rows, ordered.costs]
        arrays += [np.array([search.cost, search.swaps, path.computed_gains])]
    chosen = facility(problem, SETTINGS, 0)
    arrays += [chosen.rows, np.array(list(chosen.diagnostics.values()))]
    return tuple(array.tobytes() for array in arrays)


def on(engine, compute, *arguments):
    with engine_of_run(engine):
        return compute(*arguments)


def test_cores_and_workers_do_not_change_the_bytes(ray_engine, problem):
    expected = on(LocalEngine(1), solved, problem)
    assert on(LocalEngine(2), solved, problem) == expected
    for workers in (1, 2, 4):
        assert on(RayEngine(ray_engine.workers[:workers]), solved, problem) == expected


@pytest.mark.parametrize("memory", [0, 4 * N_ROWS * (N_FEATURES + 3) * 2])
def test_little_memory_changes_no_bytes_between_engines(ray_engine, problem, memory):
    """Columns are dropped and computed again; workers hold the rows that one process does not."""
    expected = on(LocalEngine(1), solved, problem, memory)
    assert on(LocalEngine(2), solved, problem, memory) == expected
    assert on(ray_engine, solved, problem, memory) == expected


def test_a_coupling_and_previous_rows_are_the_same_on_workers(ray_engine, problem):
    groups = np.random.default_rng(2).integers(0, 3, N_ROWS)
    coupling = couple(problem.corpus, problem.weights, groups, problem.pool, 0.6)
    coupled = replace(problem, coupling=coupling, previous=np.array([3, 40, 41]))
    expected = on(LocalEngine(1), solved, coupled)
    assert on(LocalEngine(2), solved, coupled) == expected
    assert on(ray_engine, solved, coupled) == expected
    assert on(LocalEngine(1), solved, problem) != expected


def test_workers_that_die_in_every_phase_change_nothing(ray_engine, problem, monkeypatch):
    import ray

    expected, parts, calls = on(LocalEngine(2), solved, problem), FacilityCosts.parts, []

    def killing(self, method, *arguments):
        calls.append(method)
        if calls.count(method) == 2 and len(calls) > 1:
            worker = ray_engine.workers[len(set(calls)) % 4]
            os.kill(ray.get(worker.process.remote()), signal.SIGKILL)
        yield from parts(self, method, *arguments)

    monkeypatch.setattr(FacilityCosts, "parts", killing)
    assert on(ray_engine, solved, problem) == expected
    phases = {"moments", "saved", "lost", "choice_cost", "all_changes", "changes"}
    assert {method for method in calls if calls.count(method) > 1} >= phases


def test_a_part_made_again_comes_to_the_same_state(problem):
    """With what it has kept of another history, and with nothing."""
    rows, weights = problem.corpus, problem.weights
    limits, pool = Limits(slots=6, block_rows=64, corpus_bytes=0), Candidates(problem.pool)
    columns = [Column(c, number, (c, c + 1, c + 2)) for number, c in enumerate((7, 30, 50, 12))]
    choice = Choice((1, 5, 60), ((0, columns[1]), (2, columns[2]), (0, columns[3])))
    some, taken = np.arange(20), tuple(columns[:2])

    def answers(part: FacilityRows) -> list[bytes]:
        lost = part.lost(pool, taken, columns[2], some)
        found = [lost.gains, np.array(lost.cost), part.saved(pool, taken, some)]
        found += [part.all_changes(pool, choice, some), part.changes(pool, choice, taken)]
        return [array.tobytes() for array in found]

    new, used = (FacilityRows(rows, weights, None, limits) for _ in range(2))
    for step in range(3):
        used.changes(pool, choice._replace(swaps=choice.swaps[:step]), tuple(columns))
    for one, other in ((3, 0), (1, 2)):
        used.lost(pool, (columns[one],), columns[other], some)
    expected = answers(new)
    assert answers(used) == answers(new) == expected


def test_the_vectors_do_not_travel(problem, monkeypatch):
    """A part has its row numbers and weights; what a call brings has the size of the choice."""
    sizes, hold = [], LocalEngine.hold

    def measured(self, parts):
        sizes.extend(len(_pickled(part)) for part in parts)
        return hold(self, parts)

    monkeypatch.setattr(LocalEngine, "hold", measured)
    on(LocalEngine(1), solved, problem)
    assert len(sizes) == 2 * -(-N_ROWS // PART_ROWS)
    assert max(sizes) < (8 + 8 + 4) * PART_ROWS + 2_000 < 4 * PART_ROWS * N_FEATURES
