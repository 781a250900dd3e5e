"""Every cell of a grid: computed once, kept by fingerprint; no failure stops the others.

A cell's fingerprint covers everything that decides its scores: the training rows, the learner with
its weights and seed, the number of updates, the evaluation rows, and the code of learners and
metrics. The evaluation split is sealed: rows are made and learners trained without it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

import numpy as np

from take.cost import costing
from take.evaluation.ceiling import ceiling_rows
from take.evaluation.cells import CellResult, failure
from take.evaluation.grid_settings import GridSettings, LearnerChoices, Names
from take.evaluation.methods.material import Material, NotApplicableError
from take.evaluation.names import CONSTANT, FULL
from take.evaluation.progress import Progress, quiet
from take.evaluation.sealed_split import SealedSplit
from take.evaluation.store import CellStore
from take.evaluation.training_sets import NotStoredError, TrainedOn, TrainingSets
from take.learners import (
    ConvergenceSettings,
    Learner,
    LinearSettings,
    OneClass,
    Shared,
    Texts,
    Vocabulary,
    WordCounts,
    make_learner,
)
from take.reuse.digests import module_code, value_digest

_logger = logging.getLogger(__name__)

_SEEDS_A_SET = 1000  # training j on set i has the seed 1000 i + j: no training is done twice
_DECIDING = ("take.learners", "take.evaluation.sealed_split", "take.evaluation.ceiling")
"""Modules whose code decides a cell's scores, given its rows."""
_KEY = ("corpus", "budget", "method", "learner", "set_seed", "training_seed", "metric")


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
                run = _Run(self, experiment, known, progress)
                found += [cell for cell in map(run.cell, plan) if cell is not None]
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
        self._learners: dict[str, Learner | Exception] = {}
        self._skipped: set[str] = set()
        self._code = value_digest(module_code(*_DECIDING))
        labels = experiment.material.corpus.labels
        self._metric = grid.settings.metric_of(experiment.corpus, np.bincount(labels).tolist())

    def cell(self, planned: Planned) -> CellResult | None:
        """A cell; None for a method that does not apply to this corpus, or if it is not stored."""
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
        what = f"{empty.corpus} {empty.budget}, {empty.learner} trained on '{empty.method}'"
        seconds = None
        try:
            cell, is_new = self._computed(empty, planned, self._training_set(planned))
            seconds = cell.seconds if is_new else None
        except (NotApplicableError, NotStoredError):
            return None
        except Exception as error:  # recorded, and the other cells go on
            reason = failure(error)
            _logger.warning("%s failed: %s", what, reason)
            return empty.model_copy(update={"error": reason})
        else:
            return cell
        finally:
            self._progress.done(planned.learner, seconds, what)

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

    def _computed(
        self, empty: CellResult, planned: Planned, given: TrainedOn
    ) -> tuple[CellResult, bool]:
        """The cell, and whether it had to be computed."""
        learner, (made, rows, pool) = self._learner(planned.learner), given
        settings, split = self._grid.choices.of(planned.learner), self._experiment.split
        limits = None
        if planned.method == FULL:
            limits = self._grid.choices.full.get(planned.learner, ConvergenceSettings())
        updates, seed = None, 0
        if not isinstance(settings, LinearSettings):
            updates = None if limits else settings.training.updates
            seed = planned.set_seed * _SEEDS_A_SET + planned.training_seed
        most = self._grid.choices.evaluation_rows.get(planned.learner)
        evaluation_rows = len(split.rows(most))
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
        stored = self._grid.store.cell(fingerprint)
        if stored is not None:
            mine = {name: getattr(empty, name) for name in _KEY}
            if limits:
                known |= {"rows": stored.rows, "updates": stored.updates}
            return stored.model_copy(update=known | mine), False
        if self._grid.stored:
            raise NotStoredError(fingerprint)
        with costing() as training:
            if limits:
                apart = ceiling_rows(rows, self._experiment.material, seed)
                converged = learner.fit_to_convergence(*apart, seed, limits)
                model = converged.model
                known |= {
                    "rows": converged.rows,
                    "updates": converged.updates,
                    "curve": converged.curve,
                }
            elif rows.is_one_class:
                model = OneClass(rows)
            else:
                model = learner.fit(rows, seed, updates)
        with costing() as prediction:
            found = split.evaluate(model, most)
        measured = {
            **vars(found.scores),
            "training_seconds": round(training.seconds, 3),
            "prediction_seconds": round(prediction.seconds, 3),
            "peak_megabytes": round(max(training.peak_megabytes, prediction.peak_megabytes), 1),
        }
        cell = empty.model_copy(update=known | measured)
        self._grid.store.keep_cell(cell, found.predicted)
        return cell, True

    def _learner(self, name: str) -> Learner:
        """The learner of that name; one that cannot be made fails once for all its cells."""
        if name not in self._learners:
            try:
                settings = self._grid.choices.of(name)
                self._learners[name] = make_learner(settings, self._experiment.shared)
            except Exception as error:  # raised again for every cell
                self._learners[name] = error
        found = self._learners[name]
        if isinstance(found, Exception):
            raise found
        return found
