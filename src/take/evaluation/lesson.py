"""What a learner is shown of a training set. Imports little: its code counts for every cell."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from take.learners.base import Taught, Texts


class Rows(Protocol):
    """A training set, as a method makes it."""

    @property
    def texts(self) -> list[list[str]]:
        """One column, or two for pairs."""
        ...

    @property
    def labels(self) -> NDArray[np.int64]:
        """(K,)."""
        ...

    @property
    def weights(self) -> NDArray[np.float64]:
        """(K,) of at least 0."""
        ...


def lesson(rows: Rows, n_classes: int) -> Taught:
    """The rows to be taught: those that count for nothing are left out."""
    if np.all(rows.weights == 1):
        # A copy: of a table's labels, which nobody can write to, torch warns.
        return Taught(Texts.of(*rows.texts), rows.labels.copy(), n_classes)
    counted = np.flatnonzero(rows.weights > 0)
    texts = ([column[row] for row in counted] for column in rows.texts)
    return Taught(Texts.of(*texts), rows.labels[counted], n_classes, rows.weights[counted])
