"""The base of settings and reports."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """A pydantic model that cannot be changed and refuses fields it does not know.

    >>> class Settings(Frozen):
    ...     rows: int = 5
    >>> Settings(rowz=6)
    Traceback (most recent call last):
        ...
    pydantic_core._pydantic_core.ValidationError: 1 validation error for Settings
    rowz
      Extra inputs are not permitted ...
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
