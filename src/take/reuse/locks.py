"""One process at a time: locks on files, which the system frees when their process ends."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_logger = logging.getLogger(__name__)


@contextmanager
def file_lock(path: Path, what: str) -> Iterator[None]:
    """Hold a lock on short work that processes share, waiting for whoever has it."""
    from filelock import FileLock, Timeout

    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path, thread_local=False)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        _logger.info("Waiting for another process: %s.", what)
        lock.acquire(poll_interval=0.2)
    try:
        yield
    finally:
        lock.release()
