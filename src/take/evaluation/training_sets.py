"""Training sets of an experiment: each made once by its method, or read from the store."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from take.cost import costing
from take.evaluation.methods import FROM_POOL, method
from take.evaluation.methods.material import BaselineSettings, Material
from take.evaluation.store import CellStore, MadeSet
from take.learners import TrainingRows
from take.reuse.digests import file_digest, module_code, value_digest
from take.text.format import duration

GIVEN = frozenset({"file", "distilled"})
"""Methods whose rows a user provides: bad rows are refused at once, not recorded as a failure."""
_BY_CONTENT = {"file", "dilm_root"}
"""Settings that name files: these count by their content, and for their own method alone."""

_logger = logging.getLogger(__name__)


class NotStoredError(LookupError):
    """It is not in the store, and nothing is to be computed."""


class TrainedOn(NamedTuple):
    """A set as made, and as learners are trained on it: one object, which they cache by."""

    made: MadeSet
    rows: TrainingRows
    pool: int | None
    """The pool that it was selected from, if any."""


class TrainingSets:
    """By method and seed; the rows that a user provides are read, and checked, at once."""

    def __init__(
        self,
        materials: Sequence[Material],
        settings: BaselineSettings,
        store: CellStore,
        methods: Sequence[str],
        sets: int,
        stored: bool = False,
    ) -> None:
        """One material for each pool; sets are selected from them in turn."""
        self._materials, self._settings, self._store = materials, settings, store
        self._stored = stored  # nothing is made
        self._found: dict[tuple[str, int], TrainedOn | Exception] = {}
        for name in sorted(GIVEN & set(methods)):
            one_per_seed = name == "file" and "{seed}" in (settings.file or "")
            for seed in range(sets):
                if seed == 0 or one_per_seed:
                    given = self._with_rows(make_set(name, materials[0], settings, seed))
                self._found[name, seed] = given

    def __contains__(self, key: tuple[str, int]) -> bool:
        return key in self._found

    def get(self, name: str, seed: int) -> tuple[TrainedOn, float | None]:
        """The set, and the seconds it took if it was made now; a failure is raised each time."""
        seconds = None
        if (name, seed) not in self._found:
            try:
                made, is_new = self._read_or_make(name, seed)
                pool = self._material(name, seed).pool_number if name in FROM_POOL else None
                self._found[name, seed] = self._with_rows(made, pool)
                seconds = made.seconds if is_new else None
            except Exception as error:  # raised below, and for every other cell of the set
                self._found[name, seed] = error
        found = self._found[name, seed]
        if isinstance(found, Exception):
            raise found
        return found, seconds

    def _material(self, name: str, seed: int) -> Material:
        """Pools take turns. A method that reads none has the same rows however many there are."""
        return self._materials[seed % len(self._materials) if name in FROM_POOL else 0]

    def _with_rows(self, made: MadeSet, pool: int | None = None) -> TrainedOn:
        rows, n_classes = made.rows, len(self._materials[0].class_names)
        trained = TrainingRows.of(rows.texts, rows.labels, rows.weights, n_classes)
        return TrainedOn(made, trained, pool)

    def _read_or_make(self, name: str, seed: int) -> tuple[MadeSet, bool]:
        """The set, and whether it had to be made."""
        material = self._material(name, seed)
        if name == "full":  # faster to make than to read
            return make_set(name, material, self._settings, seed), True
        fingerprint = value_digest(
            {
                "method": name,
                "seed": seed,
                "settings": self._settings.model_dump(mode="json", exclude=_BY_CONTENT),
                "material": material.identity,
                "made by": _code_and_files(name, self._settings, material.name),
            }
        )
        stored = self._store.training_set(fingerprint)
        if stored is not None:
            return stored, False
        if self._stored:
            raise NotStoredError(fingerprint)
        made = make_set(name, material, self._settings, seed, search=fingerprint[:16])
        self._store.keep_training_set(fingerprint, made)
        if made.seconds > 5:
            _logger.info("Rows by '%s', seed %s: %s.", name, seed, duration(made.seconds))
        return made, True


def make_set(
    name: str, material: Material, settings: BaselineSettings, seed: int, search: str = ""
) -> MadeSet:
    """The rows of a method, and the seconds; `search` names its own folder for checkpoints."""
    # A finished search clears its folder, so that it must not share one with others.
    work = material.work / search if material.work is not None and search else None
    with costing() as cost:
        rows = method(name)(replace(material, work=work), settings, seed)
    if work is not None:
        with suppress(OSError):  # it was never there, or something is left in it
            work.rmdir()
    return MadeSet(rows, cost.seconds)


def _code_and_files(name: str, settings: BaselineSettings, corpus: str) -> dict[str, Any]:
    """What decides a method's rows apart from settings, seed and material."""
    found = method(name)
    is_function = inspect.isfunction(found)
    published = Path(settings.dilm_root or "", f"{corpus}.parquet")
    return {
        "options": "" if is_function else repr(found),
        "code": module_code(found.__module__ if is_function else type(found).__module__),
        "file": file_digest(published) if name == "dilm" and published.is_file() else "",
    }
