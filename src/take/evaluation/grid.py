"""Every cell of a grid: computed once, kept by fingerprint; no failure stops the others.

A cell's fingerprint covers everything that decides its scores: the training rows, the learner with
its weights and seed, the number of updates, the evaluation rows, and the code of learners and
metrics. The evaluation split is sealed: rows are made and learners trained without it.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

import numpy as np

from take.engine import current
from take.evaluation.ceiling import ceiling_rows
from take.evaluation.cells import CellResult, failure
from take.evaluation.grid_settings import GridSettings, LearnerChoices, Names
from take.evaluation.methods.material import Material, NotApplicableError
from take.evaluation.names import CONSTANT, FULL
from take.evaluation.progress import Progress, quiet
from take.evaluation.sealed_split import SealedSplit
from take.evaluation.store import CellStore
from take.evaluation.training import CellJob, CellTask
from take.evaluation.training_sets import NotStoredError, TrainedOn, TrainingSets
from take.learners import (
    ConvergenceSettings,
    LinearSettings,
    Shared,
    Texts,
    Vocabulary,
    WordCounts,
)
from take.reuse.digests import module_code, value_digest

_logger = logging.getLogger(__name__)

_SEEDS_A_SET = 1000  # training j on set i has the seed 1000 i + j: no training is done twice
_DECIDING = ("take.learners", "take.evaluation.sealed_split", "take.evaluation.ceiling")
"""Modules whose code decides a cell's scores, given its rows."""
_KEY = ("corpus", "budget", "method", "learner", "set_seed", "training_seed", "metric")
_KNOWN = ("missing_classes", "set_digest", "pool", "evaluation_rows", "independent")
_PLANNED = (*_KEY, *_KNOWN, "learner_title", "set_seconds", "fingerprint")
"""Known before a cell is computed. So are `rows` and `updates`, but for a ceiling."""


@dataclass(frozen=True)
class Experiment:
    """One corpus at one budget: what training sets are made from, and the evaluation split."""

    corpus: str
    budget: str
    materials: tuple[Material, ...]  # one for each pool
    split: SealedSplit
    shared: Shared
    methods: Names
    learners: Names

    @property
    def material(self) -> Material:
        """With the first pool."""
        return self.materials[0]


class Planned(NamedTuple):
    """A cell to be computed."""

    learner: str
    method: str
    set_seed: int
    training_seed: int


def shared_for(material: Material, shared: Shared) -> Shared:
    """What the cells of a corpus share: its vocabulary, and what all corpora share."""
    counts = WordCounts()
    vocabulary = Vocabulary(counts, Texts.of(*material.corpus.texts))
    return replace(shared, counts=counts, corpus=vocabulary)


@dataclass(frozen=True)
class Grid:
    """What is run in each experiment, and where results are kept."""

    settings: GridSettings
    choices: LearnerChoices
    store: CellStore
    code_version: str = ""
    stored: bool = False  # only cells of the store: nothing is computed

    def run(self, experiments: Sequence[Experiment]) -> list[CellResult]:
        """All cells in order; those computed before are read from the store."""
        self._refuse_bad_requests(experiments)
        sets = [self._sets(experiment) for experiment in experiments]
        plans = [list(self.plan(experiment)) for experiment in experiments]
        progress = Progress(
            [cell.learner for plan in plans for cell in plan],
            [
                key[0]
                for plan, known in zip(plans, sets, strict=True)
                for key in {(cell.method, cell.set_seed) for cell in plan}
                if key not in known
            ],
        )
        found: list[CellResult] = []
        with quiet("take.encoder.encode"):  # it logs a line for every training set
            for experiment, plan, known in zip(experiments, plans, sets, strict=True):
                found += _Run(self, experiment, known, progress).cells(plan)
        failed = sum(cell.error is not None for cell in found)
        if failed:
            _logger.warning("%s of %s cells failed: see `error`.", failed, len(found))
        return found

    def plan(self, experiment: Experiment) -> Iterator[Planned]:
        """The cells of an experiment, learner by learner."""
        names = self.choices.suited(experiment.learners, pairs=experiment.material.task == "pair")
        counts = {FULL: self.settings.full_sets, CONSTANT: 1}
        for learner in names:
            drawn = not isinstance(self.choices.of(learner), LinearSettings)
            for name in self.settings.methods_for(learner, experiment.methods):
                trainings = self.settings.trainings if drawn and name != CONSTANT else 1
                sets = counts.get(name, self.settings.sets)
                for set_seed, training in product(range(sets), range(trainings)):
                    yield Planned(learner, name, set_seed, training)

    def _refuse_bad_requests(self, experiments: Sequence[Experiment]) -> None:
        for name in self.settings.methods_by_learner:
            self.choices.of(name)
        for experiment in experiments:
            for name in experiment.learners:
                self.choices.of(name)

    def _sets(self, experiment: Experiment) -> TrainingSets:
        settings, methods = self.settings, experiment.methods
        return TrainingSets(
            experiment.materials,
            settings.baselines,
            self.store,
            methods,
            settings.sets,
            self.stored,
        )


class _Run:
    """The cells of one experiment."""

    def __init__(
        self, grid: Grid, experiment: Experiment, sets: TrainingSets, progress: Progress
    ) -> None:
        self._grid, self._experiment, self._sets, self._progress = grid, experiment, sets, progress
        self._job = CellJob(grid.choices, experiment.shared, experiment.split, grid.store)
        self._skipped: set[str] = set()
        self._code = value_digest(module_code(*_DECIDING))
        labels = experiment.material.corpus.labels
        self._metric = grid.settings.metric_of(experiment.corpus, np.bincount(labels).tolist())
        self._found: dict[int, CellResult] = {}
        self._under_way: dict[str, list[tuple[int, CellResult]]] = {}
        """Cells that are the same, by fingerprint; the first is computed."""
        self._sent: deque[str] = deque()  # fingerprints, in order

    def cells(self, plan: Sequence[Planned]) -> list[CellResult]:
        """The cells in order, but those whose method does not apply, or that are not stored."""
        for result in current().map(self._job, self._tasks(plan)):
            seconds = result.seconds if isinstance(result, CellResult) else None
            for number, cell in self._under_way.pop(self._sent.popleft()):
                if isinstance(result, CellResult):
                    self._keep(number, _as_planned(result, cell), seconds)
                else:
                    self._fail(number, cell, result)
                seconds = None
        return [cell for _, cell in sorted(self._found.items())]

    def _tasks(self, plan: Sequence[Planned]) -> Iterator[CellTask]:
        """What is to be computed; what is known is kept."""
        for number, planned in enumerate(plan):
            empty = CellResult(
                corpus=self._experiment.corpus,
                budget=self._experiment.budget,
                method=planned.method,
                learner=planned.learner,
                set_seed=planned.set_seed,
                training_seed=planned.training_seed,
                code_version=self._grid.code_version,
                metric=self._metric,
            )
            try:
                task = self._task(empty, planned, self._training_set(planned))
                stored = self._grid.store.cell(task.cell.fingerprint)
                if stored is None and self._grid.stored:
                    raise NotStoredError(task.cell.fingerprint)
                if stored is None and task.limits:
                    apart = ceiling_rows(task.rows, self._experiment.material, task.seed)
                    task = task._replace(rows=apart[0], validation=apart[1])
            except (NotApplicableError, NotStoredError):
                self._progress.done(planned.learner, None, _name(empty))
                continue
            except Exception as error:  # recorded, and the other cells go on
                self._fail(number, empty, failure(error))
                continue
            if stored is not None:
                self._keep(number, _as_planned(stored, task.cell))
                continue
            same = self._under_way.setdefault(task.cell.fingerprint, [])
            same.append((number, task.cell))
            if len(same) == 1:
                self._sent.append(task.cell.fingerprint)
                yield task

    def _keep(self, number: int, cell: CellResult, seconds: float | None = None) -> None:
        self._found[number] = cell
        self._progress.done(cell.learner, seconds, _name(cell))

    def _fail(self, number: int, cell: CellResult, reason: str) -> None:
        _logger.warning("%s failed: %s", _name(cell), reason)
        known = {name: getattr(cell, name) for name in (*_KEY, "code_version")}
        self._keep(number, CellResult(**known, error=reason))

    def _training_set(self, planned: Planned) -> TrainedOn:
        name, seed = planned.method, planned.set_seed
        is_known, seconds = (name, seed) in self._sets, None
        try:
            found, seconds = self._sets.get(name, seed)
        except NotApplicableError as error:
            if name not in self._skipped:
                self._skipped.add(name)
                _logger.info("%s: '%s' is skipped. %s", self._experiment.corpus, name, error)
            raise
        finally:
            if not is_known:
                self._progress.made(name, seconds)
        return found

    def _task(self, empty: CellResult, planned: Planned, given: TrainedOn) -> CellTask:
        """The cell as planned, with its fingerprint, and what it takes to compute it."""
        learner, (made, rows, pool) = self._job.learner(planned.learner), given
        settings, split = self._grid.choices.of(planned.learner), self._experiment.split
        limits = None
        if planned.method == FULL:
            limits = self._grid.choices.full.get(planned.learner, ConvergenceSettings())
        updates, seed = None, 0
        if not isinstance(settings, LinearSettings):
            updates = None if limits else settings.training.updates
            seed = planned.set_seed * _SEEDS_A_SET + planned.training_seed
        evaluation_rows = len(split.rows(self._grid.choices.evaluation_rows.get(planned.learner)))
        fingerprint = value_digest(
            {
                "learner": learner.identity,
                "seed": seed,
                "updates": updates,
                "limits": limits,
                # What decides which rows a ceiling is stopped on.
                "variants": self._experiment.material.variants if limits else "",
                "rows": made.rows.digest,
                "split": split.identity,
                "evaluation_rows": evaluation_rows,
                "code": self._code,
            }
        )
        known = {
            "rows": len(rows),
            "missing_classes": len(rows.missing_classes),
            "set_digest": made.rows.digest,
            "pool": pool,
            "evaluation_rows": evaluation_rows,
            "updates": updates,
            "independent": settings.independent_of(self._experiment.shared.encoder)
            and planned.learner not in self._grid.settings.baselines.selection.playoff_learners,
            "learner_title": learner.title,
            "set_seconds": round(made.seconds, 3),
            "fingerprint": fingerprint,
        }
        return CellTask(empty.model_copy(update=known), rows, seed, limits)


def _as_planned(computed: CellResult, planned: CellResult) -> CellResult:
    """A computed cell under the names of the plan, in which the same cell may stand twice."""
    names = _PLANNED if planned.method == FULL else (*_PLANNED, "rows", "updates")
    return computed.model_copy(update={name: getattr(planned, name) for name in names})


def _name(cell: CellResult) -> str:
    return f"{cell.corpus} {cell.budget}, {cell.learner} trained on '{cell.method}'"
