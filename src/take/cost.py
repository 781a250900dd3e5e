"""What a piece of work costs: seconds, and the most memory the process held meanwhile."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psutil

_INTERVAL = 0.05  # seconds between two measurements of memory


@dataclass
class Cost:
    """Filled in when the work is done."""

    seconds: float = 0.0
    peak_megabytes: float = 0.0


class CostMeter:
    """Measures from its creation until it is stopped; memory twenty times a second."""

    def __init__(self) -> None:
        self._peak = resident_megabytes()
        self._stopped = threading.Event()
        self._sampler = threading.Thread(target=self._sample, daemon=True)
        self._sampler.start()
        self._started = time.perf_counter()

    def stop(self) -> Cost:
        """The cost until now."""
        seconds = time.perf_counter() - self._started
        self._stopped.set()
        self._sampler.join()
        return Cost(seconds, max(self._peak, resident_megabytes()))

    def _sample(self) -> None:
        while not self._stopped.wait(_INTERVAL):
            self._peak = max(self._peak, resident_megabytes())


@contextmanager
def costing() -> Iterator[Cost]:
    """Time and peak memory of a block.

    >>> with costing() as cost:
    ...     kept = bytearray(10_000_000)
    >>> cost.seconds > 0, cost.peak_megabytes > 10
    (True, True)
    """
    cost, meter = Cost(), CostMeter()
    try:
        yield cost
    finally:
        measured = meter.stop()
        cost.seconds, cost.peak_megabytes = measured.seconds, measured.peak_megabytes


def resident_megabytes() -> float:
    """Memory that the process holds now."""
    return float(psutil.Process().memory_info().rss / 1e6)


_limit: list[int] = []


def limit_cores(count: int) -> None:
    """Let this process use so many cores at most, as one of several workers on a machine."""
    _limit[:] = [count]


def shares_machine() -> bool:
    """Whether this process is one of several workers, which must not all take the same cores."""
    return bool(_limit)


def available_cores() -> int:
    """The cores this process may use."""
    return min([_cores(), *_limit])


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
