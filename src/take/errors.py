"""Errors a user can fix: what is wrong, where, what is allowed, what to do next."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError

from take.text.format import escaped

_MOST_NAMES = 20
"""How many names a hint lists."""


class TakeError(Exception):
    """Base of every error TAKE raises on purpose."""


class InputError(TakeError, ValueError):
    """The user's data or settings cannot be used as they are.

    Values in a message may hold anything, so control characters in it are escaped.

    >>> raise InputError("blank text", where="tickets.csv, row 3", remedy="fill it or drop the row")
    Traceback (most recent call last):
    take.errors.InputError: tickets.csv, row 3: blank text. Fix: fill it or drop the row.
    """

    def __init__(
        self, problem: str, *, where: str = "", allowed: str = "", remedy: str = ""
    ) -> None:
        message = f"{where}: {problem}." if where else f"{problem[:1].upper()}{problem[1:]}."
        if allowed:
            message += f" Allowed: {allowed}."
        if remedy:
            message += f" Fix: {remedy}" + ("" if remedy[-1] in "?." else ".")
        super().__init__(escaped(message))

    def __reduce__(self) -> tuple[object, ...]:
        """The message is whole: made from a pickle, the error does not phrase it again."""
        return _again, (type(self), self.args)


def _again(kind: type[InputError], arguments: tuple[object, ...]) -> InputError:
    error = kind.__new__(kind)
    error.args = arguments
    return error


class AlteredArtifactError(TakeError):
    """An artifact on disk is not the one that was written there."""


def closest(word: str, known: Iterable[str]) -> str:
    """A hint naming the known words nearest to a misspelt one, or all when none is near.

    >>> closest("sts2", ["sst2", "imdb"])
    "did you mean 'sst2'?"
    >>> closest("zzz", ["sst2", "imdb"])
    "use one of 'imdb', 'sst2'."
    >>> closest("zzz", map(str, range(1000)))[-15:]
    'and 980 others.'
    """
    names = sorted(known)
    near = get_close_matches(word, names, n=3, cutoff=0.5)
    listed = ", ".join(repr(name) for name in near or names[:_MOST_NAMES])
    if not near and len(names) > _MOST_NAMES:
        listed += f" and {len(names) - _MOST_NAMES:,} others"
    return f"did you mean {listed}?" if near else f"use one of {listed}."


def problems(error: ValidationError) -> str:
    """What pydantic found wrong, each with its place, without type tags and links.

    >>> from pydantic import TypeAdapter, ValidationError
    >>> try:
    ...     TypeAdapter(dict[str, int]).validate_python({"rows": "many"})
    ... except ValidationError as error:
    ...     problems(error)
    'rows: Input should be a valid integer, unable to parse string as an integer'
    """
    return "; ".join(
        f"{'.'.join(str(part) for part in problem['loc']) or 'entry'}: "
        f"{problem['msg'].removeprefix('Value error, ')}"
        for problem in error.errors()
    )
