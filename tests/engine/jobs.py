"""Jobs and parts that the tests of the engine give to workers."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import ClassVar

import numpy as np

from take.engine import Job, Part, Threads, current
from take.engine.threads import numerical_threads
from take.errors import InputError


class Square(Job[int, int]):
    """The process's number with it shows who did it."""

    def __call__(self, item: int) -> tuple[int, int]:
        return item * item, os.getpid()


class Product(Job[int, bytes]):
    """Whose last digits depend on the threads of OpenBLAS."""

    def __call__(self, item: int) -> bytes:
        rng = np.random.default_rng(item)
        left, right = (rng.standard_normal((512, 384)).astype(np.float32) for _ in range(2))
        return (left @ right.T).tobytes()


class ThreadsOf(Job[int, int]):
    def __init__(self, kind: Threads) -> None:
        self._kind = kind

    @property
    def threads(self) -> Threads:
        return self._kind

    def __call__(self, item: int) -> int:
        return numerical_threads()


class Fatal(Job[int, int]):
    """Kills its process, the first time only if a file is named."""

    def __init__(self, at: int, once: Path | None = None) -> None:
        self._at, self._once = at, once

    def __call__(self, item: int) -> int:
        if item == self._at and not (self._once and self._once.exists()):
            if self._once:
                self._once.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return item


class Refuses(Job[int, int]):
    """An item that it cannot do."""

    def __call__(self, item: int) -> int:
        if item == 3:
            raise InputError("item 3", where="here", remedy="leave it out")
        return item


class Divides(Job[int, float]):
    """By zero."""

    def __call__(self, item: int) -> float:
        return 1 / item


class Unprepared(Job[int, int]):
    """Needs a file on every worker."""

    def __init__(self, model: Path, done: Path) -> None:
        self._model, self._done = model, done

    def prepare(self) -> None:
        if not self._model.exists():
            raise InputError("there is no such model", where=str(self._model), remedy="copy it")

    def __call__(self, item: int) -> int:
        self._done.touch()
        return item


class Large(Job[int, np.ndarray]):
    """Results that do not fit an object store together."""

    def __call__(self, item: int) -> np.ndarray:
        return np.full(5_000_000, item, dtype=np.int64)


class Outer(Job[int, list[int]]):
    """Maps something itself."""

    def __call__(self, item: int) -> list[int]:
        return [square for square, _ in current().map(Square(), range(item))]


class Counter(Part):
    """Keeps the sum of what it was given, as a cache of what it is told."""

    opened: ClassVar[list[int]] = []

    def __init__(self, start: int) -> None:
        self._start, self._known = start, ()

    def total(self, numbers: list[int], folder: Path | None = None) -> tuple[int, int]:
        if folder is not None and self._start == 2 and not (folder / "died").exists():
            (folder / "died").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return self._start + sum(numbers), os.getpid()
