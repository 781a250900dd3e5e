"""The base of settings and reports."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args, get_origin

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

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


def meanings(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, str]]:
    """The description of each field of a report, by its dotted name; `*` is any key of a dict.

    >>> from pydantic import Field
    >>> class Report(Frozen):
    ...     rows: int = Field(description="How many.")
    >>> dict(meanings(Report))
    {'rows': 'How many.'}
    """
    for name, field in model.model_fields.items():
        kinds = (field.annotation, *get_args(field.annotation))
        parts = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)]
        if parts:
            star = "*." if get_origin(field.annotation) is dict else ""
            yield from meanings(parts[0], f"{prefix}{name}.{star}")
        else:
            yield prefix + name, " ".join((field.description or "").split())
