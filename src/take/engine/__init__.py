"""Where work on many rows is done: in this process, or on the workers of a Ray cluster.

Domain code describes work as a `Job`, a function of one item (a block of rows, a few strings, the
numbers of rows to generate), or as `Part`s, which stay where they are and answer calls (rows of a
kernel that every pass of Sinkhorn reads). The engine of the run does it; nodes do not know which.

    for vectors in current().map(job, segments):
        ...

Results come in the order of the items, whichever worker was first, and a job for numbers computes
on one thread. So the bytes are the same with any number of cores or workers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeVar

from take.errors import TakeError

Item = TypeVar("Item")
Result = TypeVar("Result")

Threads = Literal["one", "own", "run"]


class EngineError(TakeError):
    """Workers cannot do what they were given."""


class Job(ABC, Generic[Item, Result]):
    """A function of one item, in whichever process.

    A worker makes it from its pickle, which should be small: settings and the paths of artifacts,
    not what is in them. What is expensive (a model) is loaded when first used, is kept with the
    job, and is left out of the pickle.
    """

    threads: ClassVar[Threads] = "one"
    """`one`: of numerical libraries, so that sums are always added in the same order. `own`: the
    job uses the cores that it may (`take.cost.available_cores`), and results do not depend on how
    many. `run`: as many threads as the run's process has."""

    def prepare(self) -> None:
        """Load what is needed, or raise an `InputError`: called on every worker before any item."""

    @abstractmethod
    def __call__(self, item: Item) -> Result:
        """The result of an item."""


class Part:
    """Something that stays on a worker and answers calls of its methods.

    A worker makes it from its pickle, again if the worker dies. So a method may keep what it
    computed, but its answer depends on the pickle and its arguments alone.
    """


class Held(Protocol):
    """Parts on their workers."""

    def share(self, value: Any) -> Any:
        """A value that many calls have as an argument, so that it travels once."""
        ...

    def call(self, method: str, *arguments: Any) -> Iterator[Any]:
        """What that method of each part answers, in the order of the parts."""
        ...


class Engine(Protocol):
    """Does work."""

    @property
    def processes(self) -> int:
        """Over how many processes, each with the memory of the settings, parts are spread."""
        ...

    def map(self, job: Job[Item, Result], items: Iterable[Item]) -> Iterator[Result]:
        """`job(item)` of each item, in order. Items are read as workers become free."""
        ...

    def hold(self, parts: Sequence[Part]) -> AbstractContextManager[Held]:
        """Keep parts on workers within the block."""
        ...


_current: ContextVar[Engine | None] = ContextVar("engine", default=None)
_of_run: list[Engine] = []
"""The engine of the run; threads of a runner, which have contexts of their own, use it, too."""


def current() -> Engine:
    """The engine of this run: by default, this process."""
    from take.engine.local import LocalEngine

    return _current.get() or (_of_run[-1] if _of_run else LocalEngine())


def load(job: Job[Any, Any]) -> None:
    """Prepare a job wherever its items will be done, before the clock of its rate starts."""
    for _ in current().map(job, ()):
        pass


@contextmanager
def engine_of_run(engine: Engine) -> Iterator[None]:
    """Use an engine for all work of the process within the block.

    >>> from take.engine.local import LocalEngine
    >>> engine = LocalEngine()
    >>> with engine_of_run(engine):
    ...     current() is engine
    True
    """
    _of_run.append(engine)
    try:
        yield
    finally:
        _of_run.remove(engine)


@contextmanager
def nested(engine: Engine) -> Iterator[None]:
    """Use an engine for what a job itself maps, in this thread."""
    token = _current.set(engine)
    try:
        yield
    finally:
        _current.reset(token)
