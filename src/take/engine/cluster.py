"""The engine of a Ray cluster: actors that keep models and blocks, in which the work is done.

A worker that dies is replaced by Ray, and what it was doing is done again. Blocks of artifacts do
not travel: workers read them by path, so the project's folder must be visible to all machines.
"""

from __future__ import annotations

import hashlib
import logging
import os
import signal
import socket
import threading
import uuid
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import Any

from take.cost import available_cores
from take.engine import EngineError, Held, Item, Job, Part, Result
from take.engine.engine_settings import EngineSettings
from take.engine.threads import numerical_threads, one_thread
from take.engine.worker import MOST_JOBS, Facts, Failed, Worker, facts
from take.errors import InputError
from take.rows.blocks import block_bounds

_logger = logging.getLogger(__name__)

_WHERE = "engine"
_AHEAD = 2
"""Items that a worker has, and results that wait for an earlier one, at most."""
_PARTS_A_CALL = 8
"""Of a worker: one message for all of them."""
_LARGE_BYTES = 100_000
"""From so many on, an argument goes through the object store."""
_NONE = object()
_CONNECT_SECONDS = 5.0
_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # a warning about GPUs that are not used
}
_OF_OUR_OWN = {
    # Ray then listens to this machine alone, as it always does on Windows and macOS.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    # The run waits for its workers: they are no background work (Ray's default is 15).
    "RAY_worker_niceness": "0",
}
"""For a cluster that is started for a run."""


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
                yield _got(done.pop(yielded))
                yielded += 1
            elif pending:
                for reference in ray.wait(list(pending))[0]:
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
                    _got(reference)
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


def _got(reference: Any) -> Any:
    return _all_got([reference])[0]


def _all_got(references: list[Any]) -> list[Any]:
    with _explained():
        results: list[Any] = _ray().get(references)
    for found in results:
        if isinstance(found, Failed):
            found.error.add_note(f"On worker {found.host}.")
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
            f"A worker of the Ray cluster died again and again ({_first_line(error)}). Fix: look "
            "at Ray's log for why (memory?), give workers more memory, or raise engine.restarts. "
            "What is done is kept: the same command resumes."
        ) from error
    except (exceptions.ObjectStoreFullError, exceptions.OutOfDiskError) as error:
        raise EngineError(
            f"Ray's object store is full, and so is the disk that it spills to "
            f"({_first_line(error)}). Fix: free disk space, or start Ray with a larger "
            "--object-store-memory. What is done is kept: the same command resumes."
        ) from error
    except exceptions.RayError as error:
        raise EngineError(f"Ray: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def _ray() -> Any:
    import ray

    return ray


@contextmanager
def connected(settings: EngineSettings, folder: Path) -> Iterator[RayEngine]:
    """The engine of a cluster: the one at the address, or one of this machine for this run alone.

    `folder` is the project's: a file in it is how workers know that they see the same folder.
    """
    os.environ.update(_ENVIRONMENT | ({} if settings.address else _OF_OUR_OWN))
    try:
        import ray
    except ImportError as error:
        raise InputError(
            "engine.kind is 'ray', but Ray is not installed",
            where=_WHERE,
            remedy="install take[ray], or set engine.kind to local",
        ) from error
    if ray.is_initialized():
        raise InputError(
            "this process is already connected to a Ray cluster",
            where=_WHERE,
            remedy="call ray.shutdown() first, and name the cluster by engine.address",
        )
    _start(settings)
    try:
        workers = _checked_workers(settings, folder)
        _logger.info(
            "Ray: %s of %s core(s) each, %s.",
            f"{len(workers)} workers" if len(workers) != 1 else "1 worker",
            settings.cores,
            f"cluster {settings.address}" if settings.address else "on this machine",
        )
        yield RayEngine(workers)
    finally:
        ray.shutdown()


def _start(settings: EngineSettings) -> None:
    import ray

    # It says at every start that its connections need a token.
    logging.getLogger("ray._private.authentication").setLevel(logging.ERROR)
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "warning"}
    if settings.address:
        _check_reachable(settings.address)
        options["address"] = settings.address
    else:
        count = settings.workers or max(1, available_cores() // settings.cores)
        options |= {"num_cpus": count * settings.cores, "include_dashboard": False}
        options |= {"address": "local", "_node_ip_address": "127.0.0.1"}
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        ray.init(**options)
    except Exception as error:  # a start that takes too long is a plain one
        raise InputError(
            f"no Ray cluster can be reached or started ({_first_line(error)})",
            where="engine.address",
            allowed="null for this machine, 'auto', or <host>:<port> of a running cluster's head",
            remedy="start one with `ray start --head`, or leave the address out",
        ) from error
    finally:  # Ray installs a handler of its own, with which a run would not clean up
        if threading.current_thread() is threading.main_thread():
            for number, handler in handlers.items():
                signal.signal(number, handler)


def _check_reachable(address: str) -> None:
    """Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    if address == "auto":
        return
    if not host or not port.isdigit() or "/" in address:
        raise InputError(
            f"{address!r} is not an address",
            where="engine.address",
            allowed="'auto', or <host>:<port> of a running cluster's head",
            remedy="take the address that `ray start --head` prints",
        )
    try:
        socket.create_connection((host, int(port)), timeout=_CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise InputError(
            f"nothing answers at {address} ({error})",
            where="engine.address",
            remedy="start the cluster, or correct the address; port 6379 is Ray's default",
        ) from error


def _checked_workers(settings: EngineSettings, folder: Path) -> list[Any]:
    folder.mkdir(parents=True, exist_ok=True)
    marker = folder / f".engine-{uuid.uuid4().hex}"
    marker.touch()
    try:
        return _workers(settings, marker)
    finally:
        marker.unlink(missing_ok=True)


def _workers(settings: EngineSettings, marker: Path) -> list[Any]:
    import ray

    resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
    cores = int(resources.get("CPU", 0))
    count = settings.workers or cores // settings.cores
    if not 1 <= count <= cores // settings.cores:
        raise InputError(
            f"{max(count, 1)} workers of {settings.cores} core(s) do not fit a cluster of {cores}",
            where="engine.workers",
            remedy=f"set it to {cores // settings.cores} or fewer, or add machines",
        )
    actor: Any = ray.remote(
        num_cpus=settings.cores, max_restarts=settings.restarts, max_task_retries=-1
    )(Worker)
    threads = numerical_threads()
    workers = [actor.remote(settings.cores, threads, Path.cwd()) for _ in range(count)]
    asked = [worker.facts.remote(marker) for worker in workers]
    _, waiting = ray.wait(asked, num_returns=len(asked), timeout=settings.start_seconds)
    if waiting:
        raise InputError(
            f"{len(waiting)} of {count} workers did not start within {settings.start_seconds} s",
            where="engine.workers",
            remedy="use fewer, wait for the cluster's other work, or raise engine.start_seconds",
        )
    expected = facts(marker)
    for host, found in map(_got, asked):
        _check_facts(host, found, expected)
    return workers


def _check_facts(host: str, found: Facts, expected: Facts) -> None:
    if found == expected:
        return
    if not found.folder:
        raise InputError(
            "it does not see the project's folder",
            where=f"worker {host}",
            remedy="put the project on a file system that all machines mount at the same path",
        )
    what = "Python" if found.python != expected.python else "code of TAKE, or of its libraries,"
    raise InputError(
        f"it has another {what} than this process",
        where=f"worker {host}",
        remedy="install the same lock on all machines",
    )
