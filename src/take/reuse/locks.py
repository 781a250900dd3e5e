"""One process at a time: locks on files, which the system frees when their process ends.

A run holds the lock of its corpus from its first check to its last record, so that no other run
writes what it reads. Work shared by all corpora (the converted language model, the database of
runs) has locks of its own, which are held for seconds.
"""

from __future__ import annotations

import json
import logging
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from take.errors import InputError
from take.reuse.atomic import write_text_atomically
from take.text.format import escaped

if TYPE_CHECKING:
    from filelock import BaseFileLock

_logger = logging.getLogger(__name__)

LOCK_FOLDER = ".locks"
"""Under the data folder; what is in it may be deleted while no run is under way."""
_POLL = 0.2  # seconds between two tries


@contextmanager
def file_lock(path: Path, what: str) -> Iterator[None]:
    """Hold a lock on short work that processes share, waiting until it is free.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder, file_lock(Path(folder) / "x.lock", "x"):
    ...     sorted(path.name for path in Path(folder).iterdir())
    ['x.lock']
    """
    lock = _lock(path)
    if not _acquired(lock, 0):
        _logger.info("Waiting for another process: %s.", what)
        _acquired(lock, -1)
    try:
        yield
    finally:
        lock.release()


class RunLock:
    """The right to write what belongs to a corpus, or to all corpora, until it is released."""

    def __init__(self, folder: Path, name: str) -> None:
        self._name = name
        self._lock = _lock(folder / f"{name}.lock")
        self._holder = folder / f"{name}.json"

    def acquire(self, wait_minutes: float) -> bool:
        """Whether another run had to be waited for; refuses if it takes longer than allowed."""
        waited = False
        if not _acquired(self._lock, 0):
            waited = True
            _logger.info(
                "Waiting for another run on '%s' (%s), up to %g minutes.",
                self._name,
                self._holder_in_words(),
                wait_minutes,
            )
            if not _acquired(self._lock, 60 * wait_minutes):
                raise InputError(
                    f"another run on '{self._name}' ({self._holder_in_words()}) did not end "
                    f"within {wait_minutes:g} minutes",
                    where=str(self._lock.lock_file),
                    remedy="run again when it has ended, or stop it; `kedro run` waits longer with "
                    "--params=wait_minutes=600",
                )
        try:
            self._write_holder()
        except BaseException:  # in a notebook, nobody would release it
            self._lock.release()
            raise
        return waited

    def _write_holder(self) -> None:
        holder = {
            "process": os.getpid(),
            "command": shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])[:500],
            "since": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        write_text_atomically(self._holder, json.dumps(holder))

    def release(self) -> None:
        """Let the next run begin."""
        self._holder.unlink(missing_ok=True)
        self._lock.release()

    def _holder_in_words(self) -> str:
        try:
            found = json.loads(self._holder.read_text(encoding="utf-8"))
            return escaped(f"process {found['process']} since {found['since']}: {found['command']}")
        except (OSError, ValueError, LookupError, TypeError):  # it is just starting, or ending
            return "just started"


@contextmanager
def no_run(data: Path) -> Iterator[None]:
    """Hold the locks of all corpora; refuse if a run is under way."""
    held: list[RunLock] = []
    try:
        for path in sorted((data / LOCK_FOLDER).glob("*.lock")):
            lock = RunLock(path.parent, path.stem)
            lock.acquire(0)
            held.append(lock)
        yield
    finally:
        for lock in held:
            lock.release()


def _lock(path: Path) -> BaseFileLock:
    from filelock import FileLock

    path.parent.mkdir(parents=True, exist_ok=True)
    # Not bound to a thread: a run may end in another one than it began in.
    return FileLock(path, thread_local=False)


def _acquired(lock: BaseFileLock, seconds: float) -> bool:
    from filelock import Timeout

    try:
        lock.acquire(timeout=seconds, poll_interval=_POLL)
    except Timeout:
        return False
    return True
