"""What a piece of work costs: seconds, and the most memory the process held meanwhile."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_EVERY = 0.05  # seconds between two looks
_STATUS = Path("/proc/self/statm")


@dataclass
class Cost:
    """Filled in when the work is done."""

    seconds: float = 0.0
    peak_megabytes: float = 0.0


@contextmanager
def costing() -> Iterator[Cost]:
    """Time and peak memory of a block; the peak is looked for twenty times a second.

    >>> with costing() as cost:
    ...     kept = bytearray(10_000_000)
    >>> cost.seconds > 0, cost.peak_megabytes > 10
    (True, True)
    """
    cost, done = Cost(), threading.Event()

    def look() -> None:
        cost.peak_megabytes = max(cost.peak_megabytes, resident_megabytes())

    def watch() -> None:
        while not done.wait(_EVERY):
            look()

    look()
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    begun = time.perf_counter()
    try:
        yield cost
    finally:
        cost.seconds = time.perf_counter() - begun
        done.set()
        watcher.join()
        look()


def resident_megabytes() -> float:
    """Memory that the process holds now; where the system does not say, the most it ever held."""
    if _STATUS.exists():
        pages = int(_STATUS.read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
    import resource
    import sys

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
