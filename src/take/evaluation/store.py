"""What has been computed so far, by fingerprint: training sets, and cells with their predictions.

A cell is written when it is done, whole or not at all; a killed grid goes on where it stopped. A
file that cannot be read is computed anew.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
import pandas as pd

from take.evaluation.cells import CellResult
from take.evaluation.methods.material import TrainingSet
from take.reuse.atomic import atomic_path, write_text_atomically
from take.reuse.digests import value_digest
from take.rows.arrays import Int64

_logger = logging.getLogger(__name__)

Kept = TypeVar("Kept")


@dataclass(frozen=True)
class MadeSet:
    """A training set and what it took to make it."""

    rows: TrainingSet
    seconds: float


@dataclass(frozen=True)
class CellStore:
    """A folder of cells and training sets."""

    folder: Path

    def cell(self, fingerprint: str) -> CellResult | None:
        """A cell that was computed before."""
        return _read(self._cell(fingerprint), _cell)

    def keep_cell(self, cell: CellResult, predicted: Int64) -> None:
        """Write a cell; its predictions first, so that a cell never stands without them."""
        path = self._cell(cell.fingerprint)
        with atomic_path(path.with_suffix(".npy")) as temporary, temporary.open("wb") as stream:
            np.save(stream, predicted.astype(np.int16))
        content = cell.model_dump()
        checked = {**content, "checksum": value_digest(content)}
        write_text_atomically(path, json.dumps(checked, indent=1, ensure_ascii=False))

    def predictions(self, fingerprint: str) -> Int64:
        """What the learner of a stored cell answered to each row that it was asked."""
        found: Int64 = np.load(self._cell(fingerprint).with_suffix(".npy")).astype(np.int64)
        return found

    def predictions_table(self, cells: pd.DataFrame, method: str) -> pd.DataFrame:
        """The predictions of a method's cells: fingerprint, and the label of each evaluated row."""
        mine = cells[(cells["method"] == method) & cells["error"].isna()]
        fingerprints = mine["fingerprint"].drop_duplicates().tolist()
        labels = [self.predictions(fingerprint) for fingerprint in fingerprints]
        return pd.DataFrame({"fingerprint": fingerprints, "predicted": labels})

    def training_set(self, fingerprint: str) -> MadeSet | None:
        """A set that was made before."""
        return _read(self._set(fingerprint), _made_set)

    def keep_training_set(self, fingerprint: str, made: MadeSet) -> None:
        """Write a set."""
        rows = made.rows
        content = {
            "texts": rows.texts,
            "labels": rows.labels.tolist(),
            "weights": rows.weights.tolist(),
            "source": rows.source,
            "rows": None if rows.rows is None else rows.rows.tolist(),
            "seconds": made.seconds,
            "digest": rows.digest,
        }
        write_text_atomically(self._set(fingerprint), json.dumps(content, ensure_ascii=False))

    def _cell(self, fingerprint: str) -> Path:
        return self.folder / "cells" / f"{fingerprint}.json"

    def _set(self, fingerprint: str) -> Path:
        return self.folder / "sets" / f"{fingerprint}.json"


def _cell(content: str) -> CellResult:
    """A cell as it was written; one that says something else now is no cell."""
    found = json.loads(content)
    checksum = found.pop("checksum")
    if checksum != value_digest(found):
        raise ValueError("another result than was written")
    return CellResult.model_validate(found)


def _made_set(content: str) -> MadeSet:
    """A set as it was written; one that says something else now is no set."""
    found = json.loads(content)
    rows = found["rows"]
    made = TrainingSet(
        texts=found["texts"],
        labels=np.array(found["labels"], dtype=np.int64),
        weights=np.array(found["weights"], dtype=np.float64),
        source=found["source"],
        rows=None if rows is None else np.array(rows, dtype=np.int64),
    )
    if found["digest"] != made.digest:
        raise ValueError("other rows than were written")
    return MadeSet(made, found["seconds"])


def _read(path: Path, parse: Callable[[str], Kept]) -> Kept | None:
    try:
        return parse(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (ValueError, LookupError, TypeError, AttributeError):
        _logger.warning("%s cannot be read: computed anew.", path.name)
        return None
