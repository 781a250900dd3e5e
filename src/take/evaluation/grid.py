"""Every cell of a grid: made once, kept by fingerprint, and no failure stops the others.

A cell's fingerprint is of all that decides its scores: the taught rows, the learner with its
weights and seed, the number of updates, the evaluation rows asked, and the code of learners and
metrics. The evaluation split is sealed (`split.py`): rows are made and learners taught without it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from take.cost import costing
from take.evaluation.cells import CellResult, failure
from take.evaluation.lesson import lesson
from take.evaluation.methods.errors import NotApplicableError
from take.evaluation.methods.material import Material
from take.evaluation.progress import Progress, hushed, readable_time
from take.evaluation.sets import Sets, described, given_sets, make_set
from take.evaluation.settings import GridSettings, LearnerChoices, Names, check_metric
from take.evaluation.split import SealedSplit
from take.evaluation.store import CellStore, MadeSet
from take.learners import Learner, Shared, Taught, Texts, Vocabulary, WordCounts, make_learner
from take.learners.settings import LinearSettings
from take.reuse.digests import module_code, value_digest

_logger = logging.getLogger(__name__)

_SEEDS_A_SET = 1000  # training j on set i has the seed 1000 i + j: no training is done twice
_DECIDING = ("take.learners", "take.evaluation.lesson", "take.evaluation.split")
"""Whose code decides a cell's scores, given its rows."""
_BY_CONTENT = {"file", "dilm_root"}
"""Settings that name files: those count by what is in them, and for their own method alone."""
_KEY = ("corpus", "budget", "method", "learner", "set_seed", "training_seed")


@dataclass(frozen=True)
class Bench:
    """One corpus at one budget: what training sets are made of, and what learners are asked."""

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
    """What the cells of a corpus share: its vocabulary, and the weights that all corpora share."""
    counts = WordCounts()
    vocabulary = Vocabulary(counts, Texts.of(*material.corpus.texts))
    return replace(shared, counts=counts, corpus=vocabulary)


@dataclass(frozen=True)
class Grid:
    """What is run on each bench, and where it is kept."""

    settings: GridSettings
    choices: LearnerChoices
    store: CellStore
    code_version: str = ""
    stored: bool = False  # only what is in the store: nothing is computed

    def run(self, benches: Sequence[Bench]) -> list[CellResult]:
        """All cells in order; those computed before come out of the store."""
        self._refuse_bad_requests(benches)
        given = [self._given(bench) for bench in benches]
        plans = [list(self.plan(bench)) for bench in benches]
        progress = Progress(
            [cell.learner for plan in plans for cell in plan],
            [
                name
                for plan, sets in zip(plans, given, strict=True)
                for name, _ in {(cell.method, cell.set_seed) for cell in plan} - sets.keys()
            ],
        )
        found: list[CellResult] = []
        with hushed("take.encoder.encode"):  # a line for every set of forty rows
            for bench, plan, sets in zip(benches, plans, given, strict=True):
                found += _Run(self, bench, progress, sets).cells(plan)
        failed = sum(cell.error is not None for cell in found)
        if failed:
            _logger.warning("%s of %s cells failed: see `error`.", failed, len(found))
        return found

    def plan(self, bench: Bench) -> Iterator[Planned]:
        """The cells of a bench: learner by learner, so that what is done first is complete."""
        names = self.choices.suited(bench.learners, pairs=bench.material.task == "pair")
        for learner in names:
            drawn = not isinstance(self.choices.of(learner), LinearSettings)
            trainings = self.settings.trainings if drawn else 1
            for name in self.settings.taught_by(learner, bench.methods):
                sets = self.settings.full_sets if name == "full" else self.settings.sets
                for set_seed in range(sets):
                    for training in range(trainings):
                        yield Planned(learner, name, set_seed, training)

    def _refuse_bad_requests(self, benches: Sequence[Bench]) -> None:
        for bench in benches:
            metric = self.settings.metrics.get(bench.corpus, "accuracy")
            check_metric(bench.corpus, metric, len(bench.material.class_names))
        for name in (*self.settings.methods_by_learner, *(n for b in benches for n in b.learners)):
            self.choices.of(name)

    def _given(self, bench: Bench) -> Sets:
        """Rows that a user hands in are refused here, before anything is computed."""
        settings = self.settings
        return given_sets(bench.material, settings.baselines, bench.methods, settings.sets)


class _NotStoredError(LookupError):
    """Nothing is to be computed, and this has not been."""


class _Run:
    """The cells of one bench."""

    def __init__(self, grid: Grid, bench: Bench, progress: Progress, given: Sets) -> None:
        self._grid, self._bench, self._progress, self._sets = grid, bench, progress, given
        self._learners: dict[str, Learner | Exception] = {}
        self._code = value_digest(module_code(*_DECIDING))

    def cells(self, plan: Sequence[Planned]) -> list[CellResult]:
        """Each cell of the plan, but those of methods that do not apply to this corpus."""
        found = (self._cell(planned) for planned in plan)
        return [cell for cell in found if cell is not None]

    def _cell(self, planned: Planned) -> CellResult | None:
        empty = CellResult(
            corpus=self._bench.corpus,
            budget=self._bench.budget,
            method=planned.method,
            learner=planned.learner,
            set_seed=planned.set_seed,
            training_seed=planned.training_seed,
            code_version=self._grid.code_version,
        )
        seconds = None
        try:
            made, taught = self._training_set(planned.method, planned.set_seed)
            cell, is_new = self._computed(empty, planned, made, taught)
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
        self, empty: CellResult, planned: Planned, made: MadeSet, taught: Taught
    ) -> tuple[CellResult, bool]:
        """The cell, and whether it had to be computed."""
        learner = self._learner(planned.learner)
        settings = self._grid.choices.of(planned.learner)
        updates, seed = None, 0
        if not isinstance(settings, LinearSettings):
            is_full = planned.method == "full"
            updates = self._grid.settings.full_updates if is_full else settings.training.updates
            seed = planned.set_seed * _SEEDS_A_SET + planned.training_seed
        most = self._grid.choices.asked_rows.get(planned.learner)
        fingerprint = value_digest(
            {
                "learner": learner.identity,
                "seed": seed,
                "updates": updates,
                "rows": made.rows.digest,
                "split": self._bench.split.identity,
                "asked": self._bench.split.asked_rows(most),
                "code": self._code,
            }
        )
        known = {
            "rows": len(taught),
            "missing_classes": len(taught.missing_classes),
            "set_digest": made.rows.digest,
            "asked_rows": self._bench.split.asked_rows(most),
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
        with costing() as teaching:
            model = learner.teach(taught, seed, updates)
        with costing() as asking:
            marks = self._bench.split.ask(model, most)
        cell = empty.model_copy(
            update=known
            | {
                "accuracy": marks.scores.accuracy,
                "macro_f1": marks.scores.macro_f1,
                "accuracy_f1": marks.scores.accuracy_f1,
                "teach_seconds": round(teaching.seconds, 3),
                "ask_seconds": round(asking.seconds, 3),
                "peak_megabytes": round(max(teaching.peak_megabytes, asking.peak_megabytes), 1),
            }
        )
        self._grid.store.keep_cell(cell, marks.predicted)
        return cell, True

    def _learner(self, name: str) -> Learner:
        """The learner of that name; one that cannot be made fails once for all its cells."""
        if name not in self._learners:
            try:
                settings = self._grid.choices.of(name)
                self._learners[name] = make_learner(settings, self._bench.shared)
            except Exception as error:  # raised again for every cell
                self._learners[name] = error
        found = self._learners[name]
        if isinstance(found, Exception):
            raise found
        return found

    def _training_set(self, name: str, seed: int) -> tuple[MadeSet, Taught]:
        """The rows of a method; one that cannot make them fails once for all its cells."""
        if (name, seed) not in self._sets:
            seconds = None
            try:
                made, is_new = self._made(name, seed)
                seconds = made.seconds if is_new else None
                self._sets[name, seed] = (
                    made,
                    lesson(made.rows, len(self._bench.material.class_names)),
                )
            except Exception as error:  # raised again for every cell
                self._sets[name, seed] = error
                if isinstance(error, NotApplicableError) and seed == 0:
                    _logger.info("%s: '%s' is left out. %s", self._bench.corpus, name, error)
            self._progress.made(name, seconds)
        found = self._sets[name, seed]
        if isinstance(found, Exception):
            raise found
        return found

    def _made(self, name: str, seed: int) -> tuple[MadeSet, bool]:
        """The set, and whether it had to be made."""
        material, settings = self._bench.material, self._grid.settings.baselines
        if name == "full":  # quicker made than read
            return make_set(name, material, settings, seed), True
        fingerprint = value_digest(
            {
                "method": name,
                "seed": seed,
                "settings": settings.model_dump(mode="json", exclude=_BY_CONTENT),
                "material": material.identity,
                "made by": described(name, settings, self._bench.corpus),
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
            _logger.info("Rows by '%s', seed %s: %s.", name, seed, readable_time(made.seconds))
        return made, True


def _named(cell: CellResult) -> str:
    return f"{cell.corpus} {cell.budget}, {cell.learner} taught by '{cell.method}'"
