"""Methods by name: ways to make a small training set, behind one interface (METHOD §4).

A new one is a function in one of these modules and a line in `METHODS`.
"""

from __future__ import annotations

from typing import get_args

from take.errors import InputError, closest
from take.evaluation.methods.corpus_rows import (
    among_long,
    constant,
    full,
    herding,
    kcenters,
    kmeans,
    random,
    random_unstratified,
)
from take.evaluation.methods.eda import eda
from take.evaluation.methods.given import dilm, distilled, file
from take.evaluation.methods.material import Method
from take.evaluation.methods.selection import Selection
from take.scoring.scoring_inputs import KernelName
from take.selection.selectors import SELECTORS

METHODS: dict[str, Method] = {
    "full": full,
    "constant": constant,
    "random": random,
    "random_unstratified": random_unstratified,
    "random_long": among_long(random),
    "kmeans_long": among_long(kmeans),
    "eda": eda,
    "herding": herding,
    "kcenters": kcenters,
    "kmeans": kmeans,
    "kmeans_pool": Selection(selector="kmeans", tempering=0.0),
    "dilm": dilm,
    "file": file,
    "distilled": distilled,
    "take": Selection(playoff=True),
    "take_without_kappa": Selection(tempering=0.0),
    "take_raw_kappa": Selection(class_mass="weights"),
    "take_unfiltered": Selection(candidates="unfiltered"),
    "take_long": Selection(length_quantiles=(0.5, 1.0)),
    "take_real": Selection(candidates="corpus"),
    **{f"take_kernel_{name}": Selection(kernel=name) for name in get_args(KernelName)},
    **{f"take_{name}": Selection(selector=name) for name in SELECTORS},
}


FROM_POOL = frozenset(name for name, made in METHODS.items() if isinstance(made, Selection))
"""Methods that select from a pool."""


def method(name: str) -> Method:
    """The method of that name.

    >>> method("herdin")
    Traceback (most recent call last):
    take.errors.InputError: method: no method is called 'herdin'. Fix: did you mean 'herding'?
    """
    if name not in METHODS:
        raise InputError(
            f"no method is called {name!r}", where="method", remedy=closest(name, METHODS)
        )
    return METHODS[name]
