"""The engine of one process: blocks of rows are computed on its cores, everything else in turn."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
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

    @property
    def processes(self) -> int:
        """One."""
        return 1

    def map(self, job: Job[Item, Result], items: Iterable[Item]) -> Iterator[Result]:
        """`job(item)` of each item, in order."""
        job.prepare()
        if job.threads == "one":
            with one_thread(), self._pool() as pool:
                yield from self._each(job, items, pool)
        else:
            yield from map(job, items)

    @contextmanager
    def hold(self, parts: Sequence[Part]) -> Iterator[Held]:
        """The parts, in this process. The caller, too, computes on one thread."""
        with one_thread(), self._pool(len(parts)) as pool:
            yield _LocalParts(self, parts, pool)

    @contextmanager
    def _pool(self, items: int | None = None) -> Iterator[ThreadPoolExecutor | None]:
        """Threads for so many items; None if this thread does as well."""
        workers = self._workers if items is None else min(self._workers, items)
        if workers <= 1:
            yield None
            return
        pool = ThreadPoolExecutor(workers, thread_name_prefix="take")
        try:
            yield pool
        finally:
            pool.shutdown(cancel_futures=True)

    def _each(
        self,
        compute: Callable[[Given], Made],
        items: Iterable[Given],
        pool: ThreadPoolExecutor | None,
    ) -> Iterator[Made]:
        if pool is None:
            yield from map(compute, items)
            return
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

    def __init__(
        self, engine: LocalEngine, parts: Sequence[Part], pool: ThreadPoolExecutor | None
    ) -> None:
        self._engine, self._parts, self._pool = engine, parts, pool

    def share(self, value: Any) -> Any:
        """The value itself."""
        return value

    def call(self, method: str, *arguments: Any) -> Iterator[Any]:
        """What the method of each part answers, in order."""
        yield from self._engine._each(
            lambda part: getattr(part, method)(*arguments), self._parts, self._pool
        )


def _alone(compute: Callable[[Given], Made], item: Given) -> Made:
    """In a thread of a pool: what the work itself maps is done in this thread."""
    with nested(LocalEngine(1)):
        return compute(item)
