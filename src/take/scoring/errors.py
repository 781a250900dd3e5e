"""Numbers that scoring refuses, and results it warns of."""

from __future__ import annotations

from take.errors import InputError


class ScoringError(InputError):
    """Numbers that scoring refuses to compute with.

    >>> print(ScoringError("label is 7", "row 3", "0 … 2", "fix the label column"))
    row 3: label is 7. Allowed: 0 … 2. Fix: fix the label column.
    """

    def __init__(self, what: str, where: str, allowed: str, next_step: str) -> None:
        super().__init__(what, where=where, allowed=allowed, remedy=next_step)


class ScoringWarning(UserWarning):
    """A result that can be computed but should not be trusted blindly."""
