"""`engine` in globals.yml, or `--params=engine.kind=ray`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from take.frozen import Frozen


class EngineSettings(Frozen):
    """Where work on many rows is done.

    >>> EngineSettings(kind="ray", workers=4).cores
    1
    """

    kind: Literal["local", "ray"] = "local"
    """`local`: this process. `ray`: workers of a Ray cluster."""
    address: str | None = None
    """Of a running cluster: auto, or <host>:<port> of its head. None: a cluster of this machine,
    for this run alone."""
    workers: int | None = Field(default=None, ge=1)
    """Processes. None: as many as the cores allow."""
    cores: int = Field(default=1, ge=1)
    """Of each worker."""
    restarts: int = Field(default=10, ge=0)
    """How often a worker that died is replaced."""
    start_seconds: int = Field(default=120, ge=1)
    """How long workers may take to start."""

    @model_validator(mode="after")
    def _only_with_ray(self) -> EngineSettings:
        if self.kind == "local" and self.address:
            raise ValueError("an address needs kind: ray")
        return self
