"""The work of a cell, wherever the engine does it: a learner is trained, evaluated, and kept."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from take.cost import costing
from take.engine import Job, Threads
from take.evaluation.cells import CellResult, failure
from take.evaluation.grid_settings import LearnerChoices
from take.evaluation.sealed_split import SealedSplit
from take.evaluation.store import CellStore
from take.learners import (
    ConvergenceSettings,
    Learner,
    OneClass,
    Shared,
    TrainingRows,
    make_learner,
)


class CellTask(NamedTuple):
    """A cell to be computed."""

    cell: CellResult  # without its scores
    rows: TrainingRows
    seed: int
    limits: ConvergenceSettings | None = None
    """Of a training to convergence."""
    validation: TrainingRows | None = None
    """The rows that it is stopped on."""


@dataclass
class CellJob(Job[CellTask, CellResult | str]):
    """Trains and evaluates; returns the cell, or why it failed.

    It has the sealed split and what learners share, so that a worker has them once. Models are left
    out of the pickle. A cell is stored when it is done, whichever worker did it.
    """

    threads: ClassVar[Threads] = "run"

    choices: LearnerChoices
    shared: Shared
    split: SealedSplit
    store: CellStore
    _learners: dict[str, Learner | Exception] = field(default_factory=dict)

    def __getstate__(self) -> dict[str, Any]:
        """No models; a worker may have another working directory."""
        store = CellStore(self.store.folder.absolute())
        return {**vars(self), "_learners": {}, "store": store}

    def __call__(self, item: CellTask) -> CellResult | str:
        """The cell with its scores; an error is recorded, and other cells go on."""
        try:
            return self._computed(item)
        except Exception as error:
            return failure(error)

    def learner(self, name: str) -> Learner:
        """The learner of that name; one that cannot be made fails once for all its cells."""
        if name not in self._learners:
            try:
                self._learners[name] = make_learner(self.choices.of(name), self.shared)
            except Exception as error:  # raised again for every cell
                self._learners[name] = error
        found = self._learners[name]
        if isinstance(found, Exception):
            raise found
        return found

    def _computed(self, item: CellTask) -> CellResult:
        cell, rows = item.cell, item.rows
        learner, known = self.learner(cell.learner), {}
        with costing() as training:
            if item.limits and item.validation:
                apart = rows, item.validation
                converged = learner.fit_to_convergence(*apart, item.seed, item.limits)
                model = converged.model
                known = {
                    "rows": converged.rows,
                    "updates": converged.updates,
                    "curve": converged.curve,
                }
            elif rows.is_one_class:
                model = OneClass(rows)
            else:
                model = learner.fit(rows, item.seed, cell.updates)
        with costing() as prediction:
            found = self.split.evaluate(model, self.choices.evaluation_rows.get(cell.learner))
        measured = {
            **vars(found.scores),
            "training_seconds": round(training.seconds, 3),
            "prediction_seconds": round(prediction.seconds, 3),
            "peak_megabytes": round(max(training.peak_megabytes, prediction.peak_megabytes), 1),
        }
        cell = cell.model_copy(update=known | measured)
        self.store.keep_cell(cell, found.predicted)
        return cell
