"""What a killed search keeps: only for the very same search, and only if it is whole."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from take.reuse import records
from take.reuse.digests import file_digest
from take.reuse.records import record_path
from take.rows.blocks import ArrayBlocks
from take.rows.labelled import LabelledRows
from take.selection.exam import store as store_module
from take.selection.exam.search import SearchState
from take.selection.exam.store import StateStore
from take.selection.exam.task import ExamTask, best_rows
from take.selection.selection_settings import ExamSettings

SETTINGS = ExamSettings(exam_rows=100, validation_rows=60, max_sweeps=4, patience=9)


def make_rows(n: int, seed: int) -> LabelledRows:
    """Two classes that overlap in vectors and words."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 2
    phi = rng.standard_normal((n, 6)) + 0.5 * labels[:, None]
    phi /= np.linalg.norm(phi, axis=1, keepdims=True)
    texts = [f"w{i} w{j} c{y}" for i, j, y in zip(*rng.integers(0, 9, (2, n)), labels, strict=True)]
    return LabelledRows(ArrayBlocks(phi.astype(np.float32)), [texts], labels, rng.random(n) + 0.1)


@pytest.fixture(scope="module")
def task() -> ExamTask:
    exam = make_rows(100, 1)
    start = [np.array([0, 2, 4]), np.array([1, 3, 5])]
    return ExamTask(make_rows(40, 0), exam, make_rows(60, 2), start, exam.texts)


@pytest.fixture
def state() -> SearchState:
    history = np.arange(12, dtype=np.float64).reshape(2, 6) / 7
    return SearchState(np.array([3, 1, 2]), np.array([3, 1, 0]), history)


def test_a_state_comes_back_exactly_and_is_gone_once_cleared(
    tmp_path: Path, task: ExamTask, state: SearchState
) -> None:
    store = StateStore(tmp_path / "not there yet", task, SETTINGS)
    assert store.load() is None
    store.clear()  # of nothing, too
    store.save(replace(state, rows=state.rows[::-1]))
    store.save(state)  # replaces it
    loaded = StateStore(tmp_path / "not there yet", task, SETTINGS).load()
    assert loaded is not None
    for name in ("rows", "best_rows", "history"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(state, name))
        assert getattr(loaded, name).flags.writeable  # no map of a file that will be replaced
    store.clear()
    assert list(store.path.parent.iterdir()) == []


def changed(rows: LabelledRows, **changes: Callable[[Any], Any]) -> LabelledRows:
    return replace(rows, **{name: change(getattr(rows, name)) for name, change in changes.items()})


def nudged(array: np.ndarray) -> np.ndarray:
    other = array.copy()
    other.flat[-1] = np.nextafter(other.flat[-1], np.inf, dtype=other.dtype)
    return other


def nudged_vectors(phi: ArrayBlocks) -> ArrayBlocks:
    return ArrayBlocks(nudged(phi.read(0, phi.shape[0])))


def reworded(texts: list[list[str]]) -> list[list[str]]:
    return [[*texts[0][:-1], "another"]]


OTHERS: dict[str, Callable[[ExamTask], ExamTask]] = {
    "seed": lambda t: replace(t, seed=1),
    "start": lambda t: replace(t, start=[t.start[0], np.array([1, 3, 7])]),
    "order of the start": lambda t: replace(t, start=[t.start[0][::-1], t.start[1]]),
    "pool vectors": lambda t: replace(t, pool=changed(t.pool, phi=nudged_vectors)),
    "pool texts": lambda t: replace(t, pool=changed(t.pool, texts=reworded)),
    "exam labels": lambda t: replace(t, exam=changed(t.exam, labels=lambda labels: labels[::-1])),
    "exam weights": lambda t: replace(t, exam=changed(t.exam, weights=nudged)),
    "no weights": lambda t: replace(t, exam=replace(t.exam, weights=None)),
    "validation vectors": lambda t: replace(
        t, validation=changed(t.validation, phi=nudged_vectors)
    ),
    "train texts": lambda t: replace(t, train_texts=reworded(t.train_texts)),
}


@pytest.mark.parametrize("change", OTHERS)
def test_another_search_has_another_file(tmp_path: Path, task: ExamTask, change: str) -> None:
    other = StateStore(tmp_path, OTHERS[change](task), SETTINGS)
    assert other.path != StateStore(tmp_path, task, SETTINGS).path


def test_other_settings_and_other_code_have_other_files(
    tmp_path: Path, task: ExamTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = [
        SETTINGS,
        SETTINGS.model_copy(update={"surrogates": ("phi",)}),
        SETTINGS.model_copy(update={"min_gain": 0.1}),
    ]
    paths = {StateStore(tmp_path, task, each).path for each in settings}
    assert len(paths) == len(settings)
    assert StateStore(tmp_path, task, SETTINGS.model_copy()).path in paths
    # Who stopped a search may go on with it: limits are not part of what it is.
    longer = SETTINGS.model_copy(update={"max_swaps": 3, "max_seconds": 9.0})
    assert StateStore(tmp_path, task, longer).path in paths
    monkeypatch.setattr(store_module, "module_code", lambda module: {module: "changed"})
    assert StateStore(tmp_path, task, SETTINGS).path not in paths


def flip(content: bytes) -> bytes:
    middle = len(content) - 9  # within the history
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


DAMAGE: dict[str, Callable[[Path], object]] = {
    "altered": lambda path: path.write_bytes(flip(path.read_bytes())),
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:-8]),
    "empty": lambda path: path.write_bytes(b""),
    "not a file of tensors": lambda path: path.write_text("gone"),
    "with an altered record": lambda path: record_path(path).write_text("{}"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_state_is_set_aside_and_the_search_starts_again(
    tmp_path: Path, task: ExamTask, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    whole = best_rows(task, SETTINGS)
    store = StateStore(tmp_path, task, SETTINGS)
    saved: list[SearchState] = []
    best_rows(task, SETTINGS, on_sweep=saved.append)
    store.save(saved[0])
    DAMAGE[damage](store.path)
    damaged = file_digest(store.path)

    with caplog.at_level(logging.WARNING):
        assert store.load() is None
    assert str(tmp_path) in caplog.text
    assert "the search starts again" in caplog.text
    (kept,) = tmp_path.iterdir()
    assert ".altered-" in kept.name
    assert file_digest(kept) == damaged

    again = best_rows(task, SETTINGS, state=store.load(), on_sweep=store.save)
    assert [rows.tolist() for rows in again.rows] == [rows.tolist() for rows in whole.rows]
    assert store.load() is not None  # what it saved on the way is whole
    store.clear()
    assert list(tmp_path.iterdir()) == [kept]


def test_a_search_killed_between_file_and_record_continues(
    tmp_path: Path, task: ExamTask, state: SearchState, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(path: Path) -> None:
        raise KeyboardInterrupt

    store = StateStore(tmp_path, task, SETTINGS)
    store.save(state)
    with monkeypatch.context() as patched:
        patched.setattr(records, "_settle", killed)
        with pytest.raises(KeyboardInterrupt):
            store.save(replace(state, rows=state.rows[::-1]))
    found = store.load()
    assert found is not None
    assert found.rows.tolist() == state.rows[::-1].tolist()


def test_a_state_without_its_record_is_not_used(
    tmp_path: Path, task: ExamTask, state: SearchState
) -> None:
    store = StateStore(tmp_path, task, SETTINGS)
    store.save(state)
    record_path(store.path).unlink()
    assert store.load() is None
    store.save(state)
    assert store.load() is not None
    record_path(store.path).unlink()
    store.clear()
    assert list(tmp_path.iterdir()) == []
