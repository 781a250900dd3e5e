from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from take.evaluation.cells import CellResult, cells_table
from take.evaluation.outcomes import EvaluatedOn, Outcomes
from take.evaluation.sealed_split import SealedSplit
from take.evaluation.store import CellStore
from take.learners import Texts


def cell(fingerprint: str, **parts: object) -> CellResult:
    given = {"corpus": "films", "budget": "2/class", "method": "take", "learner": "lr"}
    seeds = {"set_seed": 0, "training_seed": 0, "accuracy": 0.5}
    return CellResult(**{**given, **seeds, "fingerprint": fingerprint, **parts})  # type: ignore[arg-type]


@pytest.fixture
def split() -> SealedSplit:
    labels = np.array([2, 0, 1, 0, 299, 1])
    return SealedSplit(Texts.of([str(n) for n in range(6)]), labels, n_classes=300)


def test_outcomes_are_read_as_they_were_written(tmp_path: Path, split: SealedSplit) -> None:
    store = CellStore(tmp_path)
    cells = [cell("a", evaluation_rows=6), cell("b", evaluation_rows=3), cell("c")]
    cells += [cell("d", accuracy=None, error="failed")]
    store.keep_cell(cells[0], np.array([2, 0, 299, 0, 1, 1]))
    store.keep_cell(cells[1], np.array([0, 0, 0]))
    found = Outcomes.collected(cells_table(cells), {"films": split}, store)
    path = tmp_path / "outcomes.parquet"
    found.table().to_parquet(path, compression="zstd")
    read = Outcomes.of(pd.read_parquet(path))
    assert set(read.labels) == {EvaluatedOn("films", 6), EvaluatedOn("films", 3)}
    assert read.labels[EvaluatedOn("films", 6)].tolist() == [2, 0, 1, 0, 299, 1]
    some = read.labels[EvaluatedOn("films", 3)]
    assert some.tolist() == split.labels()[split.rows(3)].tolist()
    # Neither a cell that was not stored nor a failed one.
    assert {name: it.tolist() for name, it in read.predictions.items()} == {
        "a": [2, 0, 299, 0, 1, 1],
        "b": [0, 0, 0],
    }
    assert Outcomes.of(Outcomes({}, {}).table()).predictions == {}


def test_a_prediction_takes_about_a_byte(tmp_path: Path) -> None:
    random, n = np.random.default_rng(0), 10_000
    labels = random.integers(0, 4, n)
    known = {f"{i}": random.integers(0, 4, n) for i in range(10)}
    Outcomes({EvaluatedOn("films", n): labels}, known).table().to_parquet(
        tmp_path / "outcomes.parquet", compression="zstd"
    )
    assert (tmp_path / "outcomes.parquet").stat().st_size < 11 * n


def test_cells_without_outcomes_are_left_out() -> None:
    on = EvaluatedOn("films", 3)
    known = Outcomes({on: np.array([0, 1, 1])}, {"a": np.array([0, 1, 0]), "b": np.array([1])})
    assert set(known.resampled(on, ["a", "b", "c", "a"])) == {"a"}
    assert known.resampled(EvaluatedOn("plays", 3), ["a"]) == {}
    assert known.resampled(on, []) == {}
