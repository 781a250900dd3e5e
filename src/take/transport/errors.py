"""What transport refuses to return."""

from __future__ import annotations

from take.errors import TakeError


class TransportError(TakeError):
    """A transport problem that has no answer of the accuracy asked for."""
