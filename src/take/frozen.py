"""The base of settings and reports."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Self, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    ModelWrapValidatorHandler,
    model_validator,
)


def _ordered(bounds: tuple[float, float]) -> tuple[float, float]:
    low, high = bounds
    if not 0 <= low < high <= 1:
        raise ValueError(f"quantiles are {low} and {high}; 0 ≤ lower < upper ≤ 1")
    return bounds


Quantiles = Annotated[tuple[float, float], AfterValidator(_ordered)]
"""A lower and an upper one."""


class Frozen(BaseModel):
    """A pydantic model that cannot be changed and refuses fields it does not know.

    A Boolean is not a number, though pydantic reads `true` as 1.

    >>> class Settings(Frozen):
    ...     rows: int = 5
    >>> Settings(rowz=6)
    Traceback (most recent call last):
        ...
    pydantic_core._pydantic_core.ValidationError: 1 validation error for Settings
    rowz
      Extra inputs are not permitted ...
    >>> Settings(rows=True)
    Traceback (most recent call last):
        ...
    pydantic_core._pydantic_core.ValidationError: 1 validation error for Settings
      Value error, rows is true, not a number ...
    """

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    @model_validator(mode="wrap")
    @classmethod
    def _no_boolean_as_number(cls, given: Any, read: ModelWrapValidatorHandler[Self]) -> Self:
        model = read(given)
        for name, value in given.items() if isinstance(given, dict) else ():
            if _is_boolean_read_as_number(value, getattr(model, name, None)):
                raise ValueError(f"{name} is {str(value).lower()}, not a number")
        return model


def _is_boolean_read_as_number(given: Any, value: Any) -> bool:
    """Whether a Boolean was read as a number, also within a list or a dictionary."""
    if isinstance(given, bool):
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if isinstance(given, (list, tuple)) and isinstance(value, (list, tuple)):
        return any(map(_is_boolean_read_as_number, given, value))
    if isinstance(given, dict) and isinstance(value, dict):
        return any(_is_boolean_read_as_number(given[key], value.get(key)) for key in given)
    return False


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
