"""Progress of a grid: how many cells are done, and how long the rest will take."""

from __future__ import annotations

import logging
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from take.text.format import duration

_logger = logging.getLogger(__name__)


class Progress:
    """Counts cells, and logs from time to time how many are left and how long they will take.

    Learners and methods differ a thousandfold in cost, so that the time left is estimated for each
    of them. What is read from the store does not count for the rate.

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
        self._logged = time.monotonic()

    @property
    def cells_done(self) -> int:
        """Computed, stored or failed."""
        return self._total - self._cells.count

    @property
    def seconds_left(self) -> float:
        """Of cells and training sets that are still to come."""
        return self._cells.seconds + self._sets.seconds

    def made(self, method: str, seconds: float | None) -> None:
        """Count a training set; no seconds: it was stored."""
        self._sets.take(method, seconds)

    def done(self, learner: str, seconds: float | None, what: str = "") -> None:
        """Count a cell; no seconds: it was stored."""
        self._cells.take(learner, seconds)
        if seconds is not None and time.monotonic() - self._logged >= self._every:
            self._logged = time.monotonic()
            _logger.info(
                "%s of %s cells done, about %s left. Last: %s.",
                f"{self.cells_done:,}",
                f"{self._total:,}",
                duration(self.seconds_left),
                what or learner,
            )


class _Left:
    """Work of several kinds, and the average time of one piece of each."""

    def __init__(self, kinds: Sequence[str]) -> None:
        self._left = Counter(kinds)
        self._spent: dict[str, list[float]] = defaultdict(list)

    @property
    def count(self) -> int:
        return self._left.total()

    @property
    def seconds(self) -> float:
        """Σ pieces left × mean seconds of a piece; a kind not met yet counts as average."""
        known = {kind: sum(spent) / len(spent) for kind, spent in self._spent.items()}
        usual = sum(known.values()) / len(known) if known else 0.0
        return sum(count * known.get(kind, usual) for kind, count in self._left.items())

    def take(self, kind: str, seconds: float | None) -> None:
        self._left[kind] -= 1
        if seconds is not None:
            self._spent[kind].append(seconds)


@contextmanager
def quiet(name: str) -> Iterator[None]:
    """Only warnings of a logger, within the block."""
    logger = logging.getLogger(name)
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)
