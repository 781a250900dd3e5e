"""Selectors by name. A new one is a file and a line here."""

from __future__ import annotations

from take.errors import InputError, closest
from take.selection.exam.selector import exam
from take.selection.facility import facility
from take.selection.kmeans import kmeans
from take.selection.problem import EachClass, Selector
from take.selection.random import random
from take.selection.received_mass import received_mass
from take.selection.semi_relaxed import semi_relaxed
from take.selection.swap import swap

SELECTORS: dict[str, Selector] = {
    "random": EachClass(random),
    "kmeans": EachClass(kmeans),
    "received_mass": EachClass(received_mass),
    "semi_relaxed": EachClass(semi_relaxed),
    "facility": EachClass(facility, can_begin=True),
    "swap": EachClass(swap),
    "exam": exam,
}


def selector(name: str) -> Selector:
    """The selector of that name.

    >>> selector("facilty")
    Traceback (most recent call last):
    take.errors.InputError: ...no selector is called 'facilty'. Fix: did you mean 'facility'?
    """
    if name not in SELECTORS:
        raise InputError(
            f"no selector is called {name!r}", where="selector", remedy=closest(name, SELECTORS)
        )
    return SELECTORS[name]
