"""What keeps a method from making a training set, though nobody did anything wrong."""

from __future__ import annotations

from take.errors import InputError


class NotApplicableError(InputError):
    """The method has nothing for this corpus: there is no published set, no pool, no variant."""
