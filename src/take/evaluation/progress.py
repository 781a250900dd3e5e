"""What is said while a grid runs: how far it is, and how long the rest will take."""

from __future__ import annotations

import logging
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

_logger = logging.getLogger(__name__)


class Progress:
    """Counts cells; says now and then how many are left and for how long.

    Learners differ a thousandfold in cost, and so do methods: what is left is reckoned for each
    of them, from what has been computed so far. What comes out of the store costs nothing and is
    not counted for the rate.

    >>> progress = Progress(["lr", "textcnn", "textcnn"], methods=["random", "take"])
    >>> progress.made("random", 0.5)
    >>> progress.done("lr", 0.5)
    >>> progress.done("textcnn", 6.0)
    >>> progress.seconds_left
    6.5
    """

    def __init__(
        self, learners: Sequence[str], methods: Sequence[str] = (), every: float = 15.0
    ) -> None:
        self._cells, self._sets = _Left(learners), _Left(methods)
        self._total, self._every = len(learners), every
        self._told = time.monotonic()

    @property
    def cells_done(self) -> int:
        """Computed, stored or failed."""
        return self._total - self._cells.count

    @property
    def seconds_left(self) -> float:
        """Of cells and training sets that are still to come."""
        return self._cells.seconds + self._sets.seconds

    def made(self, method: str, seconds: float | None) -> None:
        """Count a training set; no seconds: it did not have to be made."""
        self._sets.take(method, seconds)

    def done(self, learner: str, seconds: float | None, what: str = "") -> None:
        """Count a cell; no seconds: it did not have to be computed."""
        self._cells.take(learner, seconds)
        if seconds is not None and time.monotonic() - self._told >= self._every:
            self._told = time.monotonic()
            _logger.info(
                "%s of %s cells done, about %s left. Last: %s.",
                f"{self.cells_done:,}",
                f"{self._total:,}",
                readable_time(self.seconds_left),
                what or learner,
            )


class _Left:
    """Work of several kinds, and what one piece of each has taken on average."""

    def __init__(self, kinds: Sequence[str]) -> None:
        self._left = Counter(kinds)
        self._spent: dict[str, list[float]] = defaultdict(list)

    @property
    def count(self) -> int:
        return self._left.total()

    @property
    def seconds(self) -> float:
        """Σ pieces left × mean seconds of a piece; a kind not met yet is taken for the average."""
        known = {kind: sum(spent) / len(spent) for kind, spent in self._spent.items()}
        usual = sum(known.values()) / len(known) if known else 0.0
        return sum(count * known.get(kind, usual) for kind, count in self._left.items())

    def take(self, kind: str, seconds: float | None) -> None:
        self._left[kind] -= 1
        if seconds is not None:
            self._spent[kind].append(seconds)


def readable_time(seconds: float) -> str:
    """Seconds as people say them.

    >>> readable_time(42), readable_time(600), readable_time(7500)
    ('42 s', '10 min', '2 h 5 min')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


@contextmanager
def hushed(name: str) -> Iterator[None]:
    """A logger that says no more than warnings for a while."""
    logger = logging.getLogger(name)
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)
