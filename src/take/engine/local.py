"""The engine of one process: blocks of rows are computed on its cores, everything else in turn."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from typing import Any, TypeVar

from take.cost import available_cores
from take.engine import Held, Item, Job, Part, Result, nested
from take.engine.threads import one_thread

Given = TypeVar("Given")
Made = TypeVar("Made")

_AHEAD = 2
"""Items of a thread that wait or whose results wait, at most."""


class LocalEngine:
    """Work on numbers is done by a thread for each core, with one thread for each product.

    >>> class Square(Job[int, int]):
    ...     def __call__(self, item: int) -> int:
    ...         return item * item
    >>> list(LocalEngine().map(Square(), range(4)))
    [0, 1, 4, 9]
    """

    def __init__(self, workers: int | None = None) -> None:
        self._workers = workers or available_cores()

    def map(self, job: Job[Item, Result], items: Iterable[Item]) -> Iterator[Result]:
        """`job(item)` of each item, in order."""
        job.prepare()
        if job.threads == "one":
            with one_thread():
                yield from self._each(job, items)
        else:
            yield from map(job, items)

    @contextmanager
    def hold(self, parts: Sequence[Part]) -> Iterator[Held]:
        """The parts, in this process."""
        yield _LocalParts(self, parts)

    def _each(self, compute: Callable[[Given], Made], items: Iterable[Given]) -> Iterator[Made]:
        if self._workers == 1:
            yield from map(compute, items)
            return
        with ThreadPoolExecutor(self._workers, thread_name_prefix="take") as pool:
            waiting: deque[Future[Made]] = deque()
            try:
                for item in items:
                    waiting.append(pool.submit(_alone, compute, item))
                    if len(waiting) >= _AHEAD * self._workers:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                for future in waiting:
                    future.cancel()


class _LocalParts:
    """`Held` in this process."""

    def __init__(self, engine: LocalEngine, parts: Sequence[Part]) -> None:
        self._engine, self._parts = engine, parts

    def call(self, method: str, *arguments: Any) -> Iterator[Any]:
        """What the method of each part answers, in order."""
        with one_thread():
            yield from self._engine._each(
                lambda part: getattr(part, method)(*arguments), self._parts
            )


def _alone(compute: Callable[[Given], Made], item: Given) -> Made:
    """In a thread of a pool: what the work itself maps is done in this thread."""
    with nested(LocalEngine(1)), nullcontext():
        return compute(item)
