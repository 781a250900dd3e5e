"""What has been computed so far, by fingerprint: training sets, and cells with their predictions.

A cell is written when it is done, whole or not at all; a killed grid resumes where it stopped.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from take.evaluation.cells import CellResult
from take.evaluation.methods.material import TrainingSet
from take.reuse.store import KeyedStore
from take.rows.arrays import Int64


@dataclass(frozen=True)
class MadeSet:
    """A training set and what it took to make it."""

    rows: TrainingSet
    seconds: float


class _Stored(NamedTuple):
    cell: CellResult
    predicted: Int64


@dataclass(frozen=True)
class CellStore:
    """A folder of cells and training sets."""

    folder: Path

    def cell(self, fingerprint: str) -> CellResult | None:
        """A cell that was computed before."""
        found = self._stored(fingerprint)
        return found.cell if found else None

    def predictions(self, fingerprint: str) -> Int64 | None:
        """The predictions of a stored cell's learner, one for each evaluation row."""
        found = self._stored(fingerprint)
        return found.predicted if found else None

    def keep_cell(self, cell: CellResult, predicted: Int64) -> None:
        """Write a cell with its predictions."""
        value = {"cell": cell.model_dump(), "predicted": predicted.tolist()}
        self._store.write_value(f"cells/{cell.fingerprint}.json", value)

    def training_set(self, fingerprint: str) -> MadeSet | None:
        """A set that was made before."""
        return self._store.read_value(f"sets/{fingerprint}.json", _made_set)

    def keep_training_set(self, fingerprint: str, made: MadeSet) -> None:
        """Write a set."""
        rows = made.rows
        value = {
            "texts": rows.texts,
            "labels": rows.labels.tolist(),
            "weights": rows.weights.tolist(),
            "source": rows.source,
            "rows": None if rows.rows is None else rows.rows.tolist(),
            "seconds": made.seconds,
        }
        self._store.write_value(f"sets/{fingerprint}.json", value)

    def _stored(self, fingerprint: str) -> _Stored | None:
        return self._store.read_value(f"cells/{fingerprint}.json", _cell)

    @property
    def _store(self) -> KeyedStore:
        return KeyedStore(self.folder, "it is computed again")


def _cell(value: Any) -> _Stored:
    predicted = np.array(value["predicted"], dtype=np.int64)
    return _Stored(CellResult.model_validate(value["cell"]), predicted)


def _made_set(value: Any) -> MadeSet:
    rows = value["rows"]
    made = TrainingSet(
        texts=value["texts"],
        labels=np.array(value["labels"], dtype=np.int64),
        weights=np.array(value["weights"], dtype=np.float64),
        source=value["source"],
        rows=None if rows is None else np.array(rows, dtype=np.int64),
    )
    return MadeSet(made, value["seconds"])
