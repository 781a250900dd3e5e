"""Every cell of a grid: computed once, kept by fingerprint; no failure stops the others.

A cell's fingerprint covers everything that decides its scores: the training rows, the learner with
its weights and seed, the number of updates, the evaluation rows, and the code of learners and
metrics. The evaluation split is sealed: rows are made and learners trained without it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from take.cost import costing
from take.evaluation.cells import CellResult, failure
from take.evaluation.grid_settings import GridSettings, LearnerChoices, Names, check_metric
from take.evaluation.methods.material import Material, NotApplicableError
from take.evaluation.progress import Progress, quiet
from take.evaluation.sealed_split import SealedSplit
from take.evaluation.store import CellStore, MadeSet
from take.evaluation.training_sets import Sets, described, given_sets, make_set
from take.learners import (
    Learner,
    LinearSettings,
    Shared,
    Texts,
    TrainingRows,
    Vocabulary,
    WordCounts,
    make_learner,
)
from take.reuse.digests import module_code, value_digest
from take.text.format import duration

_logger = logging.getLogger(__name__)

_SEEDS_A_SET = 1000  # training j on set i has the seed 1000 i + j: no training is done twice
_DECIDING = ("take.learners", "take.evaluation.sealed_split")
"""Modules whose code decides a cell's scores, given its rows."""
_BY_CONTENT = {"file", "dilm_root"}
"""Settings that name files: these count by their content, and for their own method alone."""
_KEY = ("corpus", "budget", "method", "learner", "set_seed", "training_seed")


@dataclass(frozen=True)
class Experiment:
    """One corpus at one budget: what training sets are made from, and the evaluation split."""

    corpus: str
    budget: str
    material: Material
    split: SealedSplit
    shared: Shared
    methods: Names
    learners: Names


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
        given = [self._given(experiment) for experiment in experiments]
        plans = [list(self.plan(experiment)) for experiment in experiments]
        progress = Progress(
            [cell.learner for plan in plans for cell in plan],
            [
                name
                for plan, sets in zip(plans, given, strict=True)
                for name, _ in {(cell.method, cell.set_seed) for cell in plan} - sets.keys()
            ],
        )
        found: list[CellResult] = []
        with quiet("take.encoder.encode"):  # it logs a line for every training set
            for experiment, plan, sets in zip(experiments, plans, given, strict=True):
                found += _Run(self, experiment, progress, sets).cells(plan)
        failed = sum(cell.error is not None for cell in found)
        if failed:
            _logger.warning("%s of %s cells failed: see `error`.", failed, len(found))
        return found

    def plan(self, experiment: Experiment) -> Iterator[Planned]:
        """The cells of an experiment, learner by learner."""
        names = self.choices.suited(experiment.learners, pairs=experiment.material.task == "pair")
        for learner in names:
            drawn = not isinstance(self.choices.of(learner), LinearSettings)
            trainings = self.settings.trainings if drawn else 1
            for name in self.settings.methods_for(learner, experiment.methods):
                sets = self.settings.full_sets if name == "full" else self.settings.sets
                for set_seed in range(sets):
                    for training in range(trainings):
                        yield Planned(learner, name, set_seed, training)

    def _refuse_bad_requests(self, experiments: Sequence[Experiment]) -> None:
        for experiment in experiments:
            metric = self.settings.metrics.get(experiment.corpus, "accuracy")
            check_metric(experiment.corpus, metric, len(experiment.material.class_names))
        for name in (
            *self.settings.methods_by_learner,
            *(n for b in experiments for n in b.learners),
        ):
            self.choices.of(name)

    def _given(self, experiment: Experiment) -> Sets:
        """A user's own rows; bad ones are refused here, before anything is computed."""
        settings = self.settings
        return given_sets(
            experiment.material, settings.baselines, experiment.methods, settings.sets
        )


class _NotStoredError(LookupError):
    """The cell is not in the store, and none is to be computed."""


class _Run:
    """The cells of one experiment."""

    def __init__(self, grid: Grid, experiment: Experiment, progress: Progress, given: Sets) -> None:
        self._grid, self._experiment, self._progress, self._sets = grid, experiment, progress, given
        self._learners: dict[str, Learner | Exception] = {}
        self._code = value_digest(module_code(*_DECIDING))

    def cells(self, plan: Sequence[Planned]) -> list[CellResult]:
        """Each cell of the plan, except those of methods that do not apply to this corpus."""
        found = (self._cell(planned) for planned in plan)
        return [cell for cell in found if cell is not None]

    def _cell(self, planned: Planned) -> CellResult | None:
        empty = CellResult(
            corpus=self._experiment.corpus,
            budget=self._experiment.budget,
            method=planned.method,
            learner=planned.learner,
            set_seed=planned.set_seed,
            training_seed=planned.training_seed,
            code_version=self._grid.code_version,
        )
        seconds = None
        try:
            made, rows = self._training_set(planned.method, planned.set_seed)
            cell, is_new = self._computed(empty, planned, made, rows)
            seconds = cell.seconds if is_new else None
        except (NotApplicableError, _NotStoredError):
            return None
        except Exception as error:  # recorded, and the other cells go on
            reason = failure(error)
            _logger.warning("%s failed: %s", _named(empty), reason)
            return empty.model_copy(update={"error": reason})
        else:
            return cell
        finally:
            self._progress.done(planned.learner, seconds, _named(empty))

    def _computed(
        self, empty: CellResult, planned: Planned, made: MadeSet, rows: TrainingRows
    ) -> tuple[CellResult, bool]:
        """The cell, and whether it had to be computed."""
        learner = self._learner(planned.learner)
        settings = self._grid.choices.of(planned.learner)
        updates, seed = None, 0
        if not isinstance(settings, LinearSettings):
            is_full = planned.method == "full"
            updates = self._grid.settings.full_updates if is_full else settings.training.updates
            seed = planned.set_seed * _SEEDS_A_SET + planned.training_seed
        most = self._grid.choices.evaluation_rows.get(planned.learner)
        evaluation_rows = len(self._experiment.split.rows(most))
        fingerprint = value_digest(
            {
                "learner": learner.identity,
                "seed": seed,
                "updates": updates,
                "rows": made.rows.digest,
                "split": self._experiment.split.identity,
                "evaluation_rows": evaluation_rows,
                "code": self._code,
            }
        )
        known = {
            "rows": len(rows),
            "missing_classes": len(rows.missing_classes),
            "set_digest": made.rows.digest,
            "evaluation_rows": evaluation_rows,
            "updates": updates,
            "learner_title": learner.title,
            "set_seconds": round(made.seconds, 3),
            "fingerprint": fingerprint,
        }
        stored = self._grid.store.cell(fingerprint)
        if stored is not None:
            mine = {name: getattr(empty, name) for name in _KEY}
            return stored.model_copy(update=known | mine), False
        if self._grid.stored:
            raise _NotStoredError(fingerprint)
        with costing() as training:
            model = learner.fit(rows, seed, updates)
        with costing() as prediction:
            found = self._experiment.split.evaluate(model, most)
        cell = empty.model_copy(
            update=known
            | {
                "accuracy": found.scores.accuracy,
                "macro_f1": found.scores.macro_f1,
                "accuracy_f1": found.scores.accuracy_f1,
                "training_seconds": round(training.seconds, 3),
                "prediction_seconds": round(prediction.seconds, 3),
                "peak_megabytes": round(max(training.peak_megabytes, prediction.peak_megabytes), 1),
            }
        )
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

    def _training_set(self, name: str, seed: int) -> tuple[MadeSet, TrainingRows]:
        """The rows of a method; one that cannot make them fails once for all its cells."""
        if (name, seed) not in self._sets:
            seconds = None
            try:
                made, is_new = self._made(name, seed)
                seconds = made.seconds if is_new else None
                self._sets[name, seed] = (
                    made,
                    TrainingRows.of(made.rows, len(self._experiment.material.class_names)),
                )
            except Exception as error:  # raised again for every cell
                self._sets[name, seed] = error
                if isinstance(error, NotApplicableError) and seed == 0:
                    _logger.info("%s: '%s' is skipped. %s", self._experiment.corpus, name, error)
            self._progress.made(name, seconds)
        found = self._sets[name, seed]
        if isinstance(found, Exception):
            raise found
        return found

    def _made(self, name: str, seed: int) -> tuple[MadeSet, bool]:
        """The set, and whether it had to be made."""
        material, settings = self._experiment.material, self._grid.settings.baselines
        if name == "full":  # faster to make than to read
            return make_set(name, material, settings, seed), True
        fingerprint = value_digest(
            {
                "method": name,
                "seed": seed,
                "settings": settings.model_dump(mode="json", exclude=_BY_CONTENT),
                "material": material.identity,
                "made by": described(name, settings, self._experiment.corpus),
            }
        )
        stored = self._grid.store.training_set(fingerprint)
        if stored is not None:
            return stored, False
        if self._grid.stored:
            raise _NotStoredError(fingerprint)
        made = make_set(name, material, settings, seed, search=fingerprint[:16])
        self._grid.store.keep_training_set(fingerprint, made)
        if made.seconds > 5:
            _logger.info("Rows by '%s', seed %s: %s.", name, seed, duration(made.seconds))
        return made, True


def _named(cell: CellResult) -> str:
    return f"{cell.corpus} {cell.budget}, {cell.learner} trained on '{cell.method}'"
