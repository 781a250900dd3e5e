"""Where a search keeps what it has so far, so that a killed one resumes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from take.reuse.digests import module_code, value_digest
from take.reuse.store import KeyedStore
from take.reuse.tensors import TensorStream, map_tensors, write_tensors
from take.selection.exam.search import SearchState
from take.selection.exam.task import ExamTask
from take.selection.selection_settings import ExamSettings

_LIMITS = {"max_sweeps", "max_swaps", "max_seconds", "patience", "playoff"}
_DAMAGED = "the search starts again"


class StateStore:
    """The state of one search, in a file named after all that the search depends on."""

    def __init__(self, folder: Path, task: ExamTask, settings: ExamSettings) -> None:
        self._store = KeyedStore(folder, _DAMAGED)
        self.path = folder / f"exam-{_key(task, settings)}.safetensors"

    def load(self) -> SearchState | None:
        """The last state, if there is one that is whole."""
        if not self._store.files(self.path.name) or not self._store.is_whole(self.path):
            return None
        saved = {name: np.array(array) for name, array in map_tensors(self.path).items()}
        return SearchState(saved["rows"], saved["best_rows"], saved["history"])

    def save(self, state: SearchState) -> None:
        """Replace the last state by this one."""
        arrays = {"rows": state.rows, "best_rows": state.best_rows, "history": state.history}
        with self._store.writing(self.path.name) as temporary:
            write_tensors(temporary, {k: TensorStream.of(v) for k, v in arrays.items()})

    def clear(self) -> None:
        """Remove it."""
        self._store.remove(self.path.name)


def clear_states(folder: Path) -> None:
    """Remove the states of all searches, with other settings, too: one is done."""
    KeyedStore(folder, _DAMAGED).remove("exam-*.safetensors")


def _key(task: ExamTask, settings: ExamSettings) -> str:
    """A digest of the code, the rows with their texts, the start and the settings.

    Limits are left out, so that a search can be resumed with higher ones.
    """
    code = module_code(ExamTask.__module__)
    decisive = settings.model_dump(exclude=_LIMITS)
    digest = hashlib.sha256(value_digest([code, decisive, task.seed]).encode())
    for rows in (task.pool, task.exam, task.validation):
        weights = np.empty(0) if rows.weights is None else rows.weights
        for array in (rows.phi.read(0, len(rows)), rows.labels, weights):
            digest.update(f"{array.dtype}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).data)
        _add_texts(digest, rows.texts)
    _add_texts(digest, task.train_texts)
    for chosen in task.start:
        digest.update(chosen.tobytes() + b"|")
    return digest.hexdigest()[:16]


def _add_texts(digest: hashlib._Hash, columns: Sequence[Sequence[str]]) -> None:
    for column in columns:
        for text in column:
            digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
        digest.update(b"|")
