"""Selectors by name. A new one is a file and a line here; it is imported when first used."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from take.errors import InputError, closest
from take.selection.problem import Selector

SELECTORS: dict[str, str] = {
    "random": "take.selection.random:random",
    "kmeans": "take.selection.kmeans:kmeans",
    "received_mass": "take.selection.received_mass:received_mass",
    "semi_relaxed": "take.selection.semi_relaxed:semi_relaxed",
    "facility": "take.selection.facility:facility",
    "swap": "take.selection.swap:swap",
    "exam": "take.selection.exam.selector:exam",  # of all classes at once: takes an `ExamTask`
}


def selector(name: str) -> Selector:
    """The selector of that name.

    >>> selector("facilty")
    Traceback (most recent call last):
    take.errors.InputError: ...no selector is called 'facilty'. To mend: did you mean 'facility'?
    """
    if name not in SELECTORS:
        raise InputError(
            f"no selector is called {name!r}", where="selector", remedy=closest(name, SELECTORS)
        )
    module, attribute = SELECTORS[name].split(":")
    return cast(Selector, getattr(import_module(module), attribute))
