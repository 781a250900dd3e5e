"""Connecting to a Ray cluster, or starting one, and checking that its workers can do the work.

What is wrong is said before any work starts.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from take.cost import available_cores
from take.engine.cluster import RayEngine, first_line, got
from take.engine.engine_settings import EngineSettings
from take.engine.threads import threads_of_run
from take.engine.worker import Facts, Worker, facts
from take.errors import InputError

_logger = logging.getLogger(__name__)

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
            where="engine",
            remedy="install take[ray], or set engine.kind to local",
        ) from error
    if ray.is_initialized():
        raise InputError(
            "this process is already connected to a Ray cluster",
            where="engine",
            remedy="call ray.shutdown() first, and name the cluster by engine.address",
        )
    try:
        _start(settings)
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
            f"no Ray cluster can be reached or started ({first_line(error)})",
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
    threads = threads_of_run()
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
    for host, found in map(got, asked):
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
