"""The ways of running the encoder, by name."""

from __future__ import annotations

from typing import Any

from take.encoder.torch_backend import TorchBackend

_BACKENDS: dict[str, Any] = {"torch": TorchBackend}


def backend_class(name: str) -> Any:
    """The backend of that name."""
    return _BACKENDS[name]
