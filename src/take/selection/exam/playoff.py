"""A playoff: several sets of rows, compared by learners that are trained on them (METHOD §3).

Surrogates are solved in closed form, so a search takes seconds, but they are linear. Sets that are
equal for them may differ for a network or a fine-tuned transformer. So several searches can be
made, and the set with the lowest loss wins,

    s(S) = mean over learners and trainings of  min_τ Σ_n w_n CE(f_S(x_n) / τ, y_n),

on validation rows n. All sets are trained on once, the better half of them again with another
seed, and so on (successive halving; Jamieson and Talwalkar 2016). The lowest of several losses is
too low by chance, so the models also predict fresh rows, which choose nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from take.frozen import Frozen
from take.learners.base import Learner, Texts, TrainingRows
from take.reuse.digests import value_digest
from take.reuse.store import KeyedStore
from take.rows.arrays import Float64, Int64
from take.rows.labelled import LabelledRows
from take.selection.exam.objective import log_sum_exp
from take.selection.exam.surrogates import TEMPERATURES
from take.selection.selection_settings import PlayoffSettings

_LEAST_LOGIT = -30.0  # below the likeliest class, in standard deviations


class Trial(Frozen):
    """One learner trained once on one set."""

    set: int
    """Number of the search that found the set; 0 is that of a run without a playoff."""
    learner: str
    training: int
    """Its seed: 0 is the first round."""
    loss: float
    """On validation rows, all classes with equal mass, at the best temperature."""
    accuracy: float
    """Plain, on validation rows."""
    fresh_accuracy: float
    """Plain, on fresh rows, which decide nothing."""


class Playoff(Frozen):
    """All trials, and the set that won."""

    trials: tuple[Trial, ...]
    winner: int
    recipes: tuple[Trial, ...] = ()
    """Ways to train, tried on the set that won."""
    validation_rows: int | None = None
    fresh_rows: int | None = None

    @property
    def recipe(self) -> Trial | None:
        """The recipe with the highest accuracy on validation rows; of equals, the first."""
        return max(self.recipes, key=lambda trial: trial.accuracy, default=None)

    @property
    def learners(self) -> list[str]:
        """Those that were trained on every set."""
        return list(dict.fromkeys(trial.learner for trial in self.trials))

    @property
    def sets(self) -> list[int]:
        """Their numbers."""
        return sorted({trial.set for trial in self.trials})

    @property
    def summary(self) -> dict[str, Any]:
        """What runs are compared by: the winner's figures by learner, and the best recipe."""
        figures = {
            figure: {name: self.mean(figure, self.winner, name) for name in self.learners}
            for figure in ("accuracy", "fresh_accuracy")
        }
        return figures | ({"recipe": self.recipe.learner} if self.recipe else {})

    def mean(self, figure: str, number: int | None = None, learner: str | None = None) -> float:
        """A figure's mean over the first training of every set, or over all trials of one set.

        >>> figures = {"learner": "lr", "training": 0, "loss": 0.5, "fresh_accuracy": 0.7}
        >>> trials = [Trial(set=n, accuracy=0.7 + 0.1 * n, **figures) for n in range(2)]
        >>> round(Playoff(trials=trials, winner=1).mean("accuracy"), 2)
        0.75
        """
        values = [
            getattr(trial, figure)
            for trial in self.trials
            if (trial.training == 0 if number is None else trial.set == number)
            and learner in (None, trial.learner)
        ]
        return float(np.mean(values))


@dataclass(frozen=True)
class Trainers:
    """The learners, and the rows that their models predict."""

    learners: Mapping[str, Learner]
    validation: LabelledRows  # with weights
    fresh: LabelledRows

    @cached_property
    def texts(self) -> tuple[Texts, Texts]:
        """The texts of both, tokenised once."""
        return Texts.of(*self.validation.texts), Texts.of(*self.fresh.texts)

    def trial(self, rows: TrainingRows, number: int, name: str, training: int) -> Trial:
        """Train once and predict both kinds of rows."""
        model = self.learners[name].fit(rows, training)
        scored, fresh = (model.logits(texts) for texts in self.texts)
        return Trial(
            set=number,
            learner=name,
            training=training,
            loss=calibrated_loss(scored, self.validation.labels, self.validation.shares),
            accuracy=float(np.mean(scored.argmax(axis=1) == self.validation.labels)),
            fresh_accuracy=float(np.mean(fresh.argmax(axis=1) == self.fresh.labels)),
        )


def calibrated_loss(logits: Float64, labels: Int64, weights: Float64) -> float:
    """The weighted cross-entropy at the temperature at which it is lowest.

    So a learner that is too sure of itself is judged by how it ranks classes. A class that a model
    cannot predict (−∞) counts as very improbable.

    >>> sure = np.array([[50.0, 0.0], [50.0, 0.0], [0.0, 50.0]])
    >>> round(calibrated_loss(sure, np.array([0, 1, 1]), np.full(3, 1 / 3)), 2)
    0.64
    """
    below = logits - logits.max(axis=1, keepdims=True)
    spread = max(1e-12, float(below[np.isfinite(below)].std()))
    scaled = np.maximum(below / spread, _LEAST_LOGIT)
    right = scaled[np.arange(len(labels)), labels]
    return min(float(weights @ (log_sum_exp(scaled / t) - right / t)) for t in TEMPERATURES)


def playoff(
    sets: Sequence[TrainingRows],
    trainers: Trainers,
    settings: PlayoffSettings,
    work: Path | None = None,
) -> Playoff:
    """Train the learners on the sets and choose one; trials in the `work` folder are reused.

    Every round trains what is left once more, with another seed, and keeps the better half. The
    recipes are trained on the set that won, or on the only one.
    """
    stored = _Trials(work, trainers)
    trials: list[Trial] = []
    left = list(range(len(sets)))
    for training in range(settings.rounds if len(sets) > 1 else 0):
        for number in left:
            for name in settings.learners:
                trials.append(stored.of(sets[number], number, name, training))
        left.sort(key=lambda number: (_score(trials, number), number))
        if len(left) == 1:
            break
        if training < settings.rounds - 1:
            left = left[: (len(left) + 1) // 2]
    winner = left[0]
    recipes = [stored.of(sets[winner], winner, name, 0) for name in settings.recipes]
    return Playoff(
        trials=tuple(trials),
        winner=winner,
        recipes=tuple(recipes),
        validation_rows=len(trainers.validation),
        fresh_rows=len(trainers.fresh),
    )


def _score(trials: Sequence[Trial], number: int) -> float:
    return float(np.mean([trial.loss for trial in trials if trial.set == number]))


class _Trials:
    """Trials, each kept under a digest of all that it depends on."""

    def __init__(self, work: Path | None, trainers: Trainers) -> None:
        self._trainers = trainers
        self._store = None if work is None else KeyedStore(work, "the learner is trained again")
        self._rows = _digest(trainers.validation, trainers.fresh)

    def of(self, rows: TrainingRows, number: int, name: str, training: int) -> Trial:
        """A stored trial, or a new one."""
        if self._store is None:
            return self._trainers.trial(rows, number, name, training)
        learner = self._trainers.learners[name]
        texts = [list(column) for column in rows.texts.columns]
        key = [learner.identity, texts, rows.labels.tolist(), training, self._rows]
        file = f"trial-{value_digest(key)[:24]}.json"
        found = self._store.read_value(file, Trial.model_validate)
        if found is None:
            found = self._trainers.trial(rows, number, name, training)
            self._store.write_value(file, found.model_dump())
        return found.model_copy(update={"set": number, "learner": name})


def _digest(*tables: LabelledRows) -> str:
    digest = hashlib.sha256()
    for rows in tables:
        weights = np.empty(0) if rows.weights is None else rows.weights
        digest.update(value_digest([rows.texts, rows.labels.tolist(), weights.tolist()]).encode())
    return digest.hexdigest()
