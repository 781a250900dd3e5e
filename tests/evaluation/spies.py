"""Which learners are trained on what and when: the real learners, observed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from take.evaluation import training as training_module
from take.evaluation.methods import METHODS
from take.evaluation.methods.material import BaselineSettings
from take.evaluation.sealed_split import SealedSplit
from take.learners import (
    Converged,
    ConvergenceSettings,
    Learner,
    Model,
    Texts,
    TrainingRows,
)


@dataclass
class Training:
    """One call of `fit`."""

    learner: str
    rows: TrainingRows
    seed: int
    updates: int | None
    model: Model


@dataclass
class Ceiling:
    """One call of `fit_to_convergence`."""

    learner: str
    rows: TrainingRows
    validation: TrainingRows
    seed: int


class Watched:
    """A learner that records each of its trainings."""

    def __init__(self, learner: Learner, spy: Spy) -> None:
        self._learner, self._spy = learner, spy

    def __getattr__(self, name: str) -> Any:
        return getattr(self._learner, name)

    def fit(self, rows: TrainingRows, seed: int, updates: int | None = None) -> Model:
        self._spy.events.append("training")
        self._spy.before_training()
        model = self._learner.fit(rows, seed, updates)
        self._spy.events.append("trained")
        self._spy.trainings.append(Training(self._learner.name, rows, seed, updates, model))
        return model

    def fit_to_convergence(
        self, rows: TrainingRows, validation: TrainingRows, seed: int, limits: ConvergenceSettings
    ) -> Converged:
        self._spy.events.append("training")
        self._spy.before_training()
        found = self._learner.fit_to_convergence(rows, validation, seed, limits)
        self._spy.events.append("trained")
        self._spy.ceilings.append(Ceiling(self._learner.name, rows, validation, seed))
        return found


class Spy:
    """What a grid did, in order."""

    def __init__(self) -> None:
        self.trainings: list[Training] = []
        self.ceilings: list[Ceiling] = []
        self.sets: list[tuple[str, int, str]] = []  # method, seed, digest of the rows
        self.events: list[str] = []
        self.before_training: Callable[[], None] = lambda: None

    def clear(self) -> None:
        self.trainings.clear()
        self.ceilings.clear()
        self.sets.clear()
        self.events.clear()


@pytest.fixture
def spy(monkeypatch: pytest.MonkeyPatch) -> Spy:
    found, make_learner = Spy(), training_module.make_learner
    monkeypatch.setattr(
        training_module, "make_learner", lambda *given: Watched(make_learner(*given), found)
    )

    def watched(name: str, method: Any) -> Any:
        def making(material: Any, settings: BaselineSettings, seed: int) -> Any:
            found.events.append("making")
            rows = method(material, settings, seed)
            found.events.append("made")
            found.sets.append((name, seed, rows.digest))
            return rows

        making.__module__ = getattr(method, "__module__", None) or type(method).__module__
        return making

    for name, method in METHODS.items():
        monkeypatch.setitem(METHODS, name, watched(name, method))
    return found


class _WatchedLabels(np.ndarray):
    """Labels that say when they are read; how many there are is no secret."""

    read: Callable[[], None] = staticmethod(lambda: None)

    def __getitem__(self, key: Any) -> Any:
        _WatchedLabels.read()
        return np.asarray(super().__getitem__(key))

    def __array_function__(self, *given: Any) -> Any:
        _WatchedLabels.read()
        return super().__array_function__(*given)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        _WatchedLabels.read()
        plain = (x.view(np.ndarray) if isinstance(x, _WatchedLabels) else x for x in inputs)
        return getattr(ufunc, method)(*plain, **options)

    def astype(self, *given: Any, **options: Any) -> Any:
        _WatchedLabels.read()
        return self.view(np.ndarray).astype(*given, **options)

    def tobytes(self, *given: Any) -> bytes:
        _WatchedLabels.read()
        return super().tobytes(*given)

    def tolist(self) -> Any:
        _WatchedLabels.read()
        return super().tolist()

    def __iter__(self) -> Iterator[Any]:
        _WatchedLabels.read()
        return iter(self.view(np.ndarray))


class _WatchedTexts(Texts):
    """Texts that say when they are read."""

    read: Callable[[], None] = staticmethod(lambda: None)

    def __getattribute__(self, name: str) -> Any:
        if name == "columns":
            _WatchedTexts.read()
        return super().__getattribute__(name)


@contextmanager
def watched_split(split: SealedSplit, spy: Spy) -> Iterator[SealedSplit]:
    """A split that tells the spy who reads it: `identity`, `evaluate`, or a stranger."""
    texts = _WatchedTexts(split._texts.columns)
    found = SealedSplit(texts, split._labels.view(_WatchedLabels), split.n_classes)

    def reads(what: str) -> Callable[[], None]:
        return lambda: spy.events.append(f"{what} read by {_reader(found)}")

    _WatchedLabels.read, _WatchedTexts.read = reads("labels"), reads("texts")
    try:
        yield found
    finally:
        _WatchedLabels.read = _WatchedTexts.read = staticmethod(lambda: None)


def _reader(split: SealedSplit) -> str:
    frame: Any = sys._getframe()
    while frame is not None:
        if frame.f_locals.get("self") is split and frame.f_code.co_name in ("identity", "evaluate"):
            return frame.f_code.co_name
        frame = frame.f_back
    return "a stranger"
