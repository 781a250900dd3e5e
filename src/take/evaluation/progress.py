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
        self._left = {"cell": Counter(learners), "set": Counter(methods)}
        self._spent: dict[tuple[str, str], list[float]] = defaultdict(list)
        self._total, self._every, self._logged = len(learners), every, time.monotonic()

    @property
    def cells_done(self) -> int:
        """Computed, stored or failed."""
        return self._total - self._left["cell"].total()

    @property
    def seconds_left(self) -> float:
        """Σ pieces left × mean seconds of such a piece; a kind not met yet counts as average."""
        total = 0.0
        for what, left in self._left.items():
            spent = {kind: s for (of, kind), s in self._spent.items() if of == what}
            known = {kind: sum(seconds) / len(seconds) for kind, seconds in spent.items()}
            usual = sum(known.values()) / len(known) if known else 0.0
            total += sum(count * known.get(kind, usual) for kind, count in left.items())
        return total

    def made(self, method: str, seconds: float | None) -> None:
        """Count a training set; no seconds: it was stored."""
        self._count("set", method, seconds)

    def done(self, learner: str, seconds: float | None, what: str = "") -> None:
        """Count a cell; no seconds: it was stored."""
        self._count("cell", learner, seconds)
        if seconds is not None and time.monotonic() - self._logged >= self._every:
            self._logged = time.monotonic()
            _logger.info(
                "%s of %s cells done, about %s left. Last: %s.",
                f"{self.cells_done:,}",
                f"{self._total:,}",
                duration(self.seconds_left),
                what or learner,
            )

    def _count(self, what: str, kind: str, seconds: float | None) -> None:
        self._left[what][kind] -= 1
        if seconds is not None:
            self._spent[what, kind].append(seconds)


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
