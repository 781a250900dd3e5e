"""The engine of a Ray cluster: actors that keep models and blocks, in which the work is done.

A worker that dies is replaced by Ray, and what it was doing is done again. Blocks of artifacts do
not travel: workers read them by path, so the project's folder must be visible to all machines.
"""

from __future__ import annotations

import hashlib
import threading
import uuid
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import zip_longest
from typing import Any

from take.engine import EngineError, Held, Item, Job, Part, Result
from take.engine.threads import one_thread
from take.engine.worker import MOST_JOBS, Failed
from take.rows.blocks import block_bounds

_AHEAD = 2
"""Items that a worker has, and results that wait for an earlier one, at most."""
_PARTS_A_CALL = 8
"""Of a worker: one message for all of them."""
_LARGE_BYTES = 100_000
"""From so many on, an argument goes through the object store."""
_NONE = object()


class RayEngine:
    """Work is done by the workers of a cluster."""

    def __init__(self, workers: Sequence[Any]) -> None:
        self._workers = list(workers)
        self._boxes: OrderedDict[str, list[Any]] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def workers(self) -> Sequence[Any]:
        """The actors."""
        return self._workers

    @property
    def processes(self) -> int:
        """The workers."""
        return len(self._workers)

    def map(self, job: Job[Item, Result], items: Iterable[Item]) -> Iterator[Result]:
        """`job(item)` of each item, in order; few are under way at a time."""
        with ExitStack() as stack:
            if job.threads == "one":
                stack.enter_context(one_thread())  # what the caller computes meanwhile, too
            key, box = self._boxed(job)
            yield from self._each(key, box, iter(items))

    def _each(self, key: str, box: list[Any], items: Iterator[Any]) -> Iterator[Any]:
        ray = _ray()
        free = deque(self._workers * _AHEAD)
        pending: dict[Any, tuple[int, Any]] = {}
        done: dict[int, Any] = {}
        begun = yielded = 0
        more = True
        while more or pending or done:
            while more and free and begun - yielded < 2 * _AHEAD * len(self._workers):
                try:
                    item = next(items)
                except StopIteration:
                    more = False
                    break
                worker = free.popleft()
                with _explained():
                    pending[worker.apply.remote(key, box, item)] = (begun, worker)
                begun += 1
            if yielded in done:
                yield got(done.pop(yielded))
                yielded += 1
            elif pending:
                with _explained():
                    ready, _ = ray.wait(list(pending))
                for reference in ready:
                    number, worker = pending.pop(reference)
                    free.append(worker)
                    done[number] = reference  # fetched in order, and so are errors

    @contextmanager
    def hold(self, parts: Sequence[Part]) -> Iterator[Held]:
        """The parts, spread evenly over the workers. The caller, too, computes on one thread."""
        key = uuid.uuid4().hex
        with _explained():
            boxes = [[_ray().put(_pickled(part))] for part in parts]
        try:
            with one_thread():
                yield _RayParts(key, boxes, self._workers)
        finally:
            for worker in self._workers:
                worker.forget.remote(key)

    def _boxed(self, job: Job[Any, Any]) -> tuple[str, list[Any]]:
        """The job's key and a reference to its pickle, after every worker has prepared it."""
        pickled = _pickled(job)
        key = hashlib.sha256(pickled).hexdigest()
        with self._lock:
            if key not in self._boxes:
                with _explained():
                    box = [_ray().put(pickled)]
                for reference in [worker.prepare.remote(key, box) for worker in self._workers]:
                    got(reference)
                self._boxes[key] = box
                if len(self._boxes) > MOST_JOBS:
                    self._boxes.popitem(last=False)
            self._boxes.move_to_end(key)
            return key, self._boxes[key]


class _RayParts:
    """`Held` on workers: part i is on worker i modulo their number."""

    def __init__(self, key: str, boxes: Sequence[list[Any]], workers: Sequence[Any]) -> None:
        self._key, self._boxes, self._workers = key, boxes, workers

    def share(self, value: Any) -> Any:
        """A reference to the value, which each machine fetches once."""
        with _explained():
            return _ray().put(value)

    def call(self, method: str, *arguments: Any) -> Iterator[Any]:
        """What the method of each part answers, in order."""
        given = tuple(map(self._given, arguments))
        under_way: deque[list[Any]] = deque()
        for start, stop in block_bounds(len(self._boxes), _PARTS_A_CALL * len(self._workers)):
            under_way.append(self._called(range(start, stop), method, given))
            if len(under_way) > _AHEAD:
                yield from self._answers(under_way.popleft())
        while under_way:
            yield from self._answers(under_way.popleft())

    def _called(self, numbers: range, method: str, given: tuple[Any, ...]) -> list[Any]:
        """One call of each worker for all of these parts that are its own."""
        calls, n_workers = [], len(self._workers)
        for place, worker in enumerate(self._workers[: len(numbers)]):
            own = {number: self._boxes[number] for number in numbers[place::n_workers]}
            with _explained():
                calls.append(worker.call.remote(self._key, own, method, *given))
        return calls

    def _answers(self, calls: list[Any]) -> Iterator[Any]:
        """In the order of the parts."""
        for each in zip_longest(*_all_got(calls), fillvalue=_NONE):
            for answer in each:
                if answer is not _NONE:
                    yield answer

    def _given(self, argument: Any) -> Any:
        """A large argument as a reference to it: otherwise it would travel with every call."""
        if isinstance(argument, _ray().ObjectRef) or len(_pickled(argument)) < _LARGE_BYTES:
            return argument
        return self.share(argument)


def _pickled(value: Any) -> bytes:
    import cloudpickle

    pickled: bytes = cloudpickle.dumps(value)
    return pickled


def got(reference: Any) -> Any:
    """What a reference is to; an error of a worker is raised."""
    return _all_got([reference])[0]


def _all_got(references: list[Any]) -> list[Any]:
    with _explained():
        results: list[Any] = _ray().get(references)
    for found in results:
        if isinstance(found, Failed):
            found.error.add_note(f"On worker {found.host}.\n{found.raised_at}".rstrip())
            raise found.error
    return results


@contextmanager
def _explained() -> Iterator[None]:
    """Ray's errors as ours."""
    from ray import exceptions

    try:
        yield
    except exceptions.RayActorError as error:
        raise EngineError(
            f"A worker of the Ray cluster died again and again ({first_line(error)}). Fix: look "
            "at Ray's log for why (memory?), give workers more memory, or raise engine.restarts. "
            "What is done is kept: the same command resumes."
        ) from error
    except (exceptions.ObjectStoreFullError, exceptions.OutOfDiskError) as error:
        raise EngineError(
            f"Ray's object store is full, and so is the disk that it spills to "
            f"({first_line(error)}). Fix: free disk space, or start Ray with a larger "
            "--object-store-memory. What is done is kept: the same command resumes."
        ) from error
    except exceptions.RayError as error:
        raise EngineError(f"Ray: {first_line(error)}") from error


def first_line(error: Exception) -> str:
    """Of its message."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def _ray() -> Any:
    import ray

    return ray
