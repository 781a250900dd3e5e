from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from take.evaluation.cells import CellResult
from take.evaluation.methods.material import TrainingSet
from take.evaluation.store import CellStore, MadeSet
from take.reuse import atomic

CELL = CellResult(
    corpus="films",
    budget="0.1%",
    method="take",
    learner="lr",
    set_seed=3,
    training_seed=1,
    accuracy=0.1 + 0.2,
    rows=8,
    updates=None,
    peak_megabytes=123.4,
    fingerprint="f" * 64,
)
HOSTILE = ['line\nbreak, "quotes" \\ and \u2028', "no\u00e9l 🎬 \udcff"[:-1], "tab\t,"]


def made(**changes: object) -> MadeSet:
    given = {
        "texts": [HOSTILE, HOSTILE[::-1]],
        "labels": np.array([2, 0, 1]),
        "weights": np.array([1 / 3, 1.0, 5 / 3]),
        "source": "pool",
        "rows": np.array([7, 0, 12]),
    }
    return MadeSet(TrainingSet(**{**given, **changes}), 1.5)  # type: ignore[arg-type]


def test_a_cell_is_read_as_it_was_written(tmp_path: Path) -> None:
    store = CellStore(tmp_path / "not" / "yet" / "there")
    assert store.cell(CELL.fingerprint) is None
    predicted = np.array([2, 0, 1, 299])
    store.keep_cell(CELL, predicted)
    assert store.cell(CELL.fingerprint) == CELL
    found = store.predictions(CELL.fingerprint)
    assert found is not None
    assert found.tolist() == predicted.tolist()
    assert found.dtype == np.int64
    assert store.cell("0" * 64) is None
    assert store.predictions("0" * 64) is None


@pytest.mark.parametrize("rows", [np.array([7, 0, 12]), None])
def test_a_set_is_read_as_it_was_written(tmp_path: Path, rows: np.ndarray | None) -> None:
    store, one = CellStore(tmp_path), made(rows=rows)
    assert store.training_set("a") is None
    store.keep_training_set("a", one)
    found = store.training_set("a")
    assert found is not None
    assert found.seconds == 1.5
    assert found.rows.texts == one.rows.texts
    assert found.rows.source == "pool"
    assert found.rows.digest == one.rows.digest  # or its cells would not be found again
    np.testing.assert_array_equal(found.rows.weights, one.rows.weights)
    assert (found.rows.rows is None) == (rows is None)


def test_an_edited_value_is_not_read(tmp_path: Path) -> None:
    store = CellStore(tmp_path)
    store.keep_cell(CELL, np.array([1]))
    store.keep_training_set("a", made())
    cell, rows = tmp_path / "cells" / f"{CELL.fingerprint}.json", tmp_path / "sets" / "a.json"
    for path, before, after in ((cell, "0.3", "0.9"), (rows, "quotes", "quoted")):
        content = path.read_text(encoding="utf-8")
        assert before in content
        path.write_text(content.replace(before, after), encoding="utf-8")
    assert store.cell(CELL.fingerprint) is None
    assert store.training_set("a") is None


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"null", b"3", b"{}", b'{"rows": 1}'])
def test_an_unreadable_value_is_ignored(
    tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    store = CellStore(tmp_path)
    store.keep_cell(CELL, np.array([1]))
    store.keep_training_set("a", made())
    for path in tmp_path.rglob("*.json"):
        path.write_bytes(content)
    assert store.cell(CELL.fingerprint) is None
    assert store.training_set("a") is None
    assert "a.json is damaged: it is computed again" in caplog.text


def test_a_cell_is_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = CellStore(tmp_path)

    def full_disk(*given: object) -> None:
        raise OSError("no space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(atomic.os, "replace", full_disk)
        with pytest.raises(OSError, match="no space"):
            store.keep_cell(CELL, np.array([1, 0]))
        with pytest.raises(OSError, match="no space"):
            store.keep_training_set("a", made())
    assert store.cell(CELL.fingerprint) is None
    assert store.training_set("a") is None
    assert list(tmp_path.rglob("*.json")) == []
    store.keep_cell(CELL, np.array([1, 0]))
    assert store.cell(CELL.fingerprint) == CELL
