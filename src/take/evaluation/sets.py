"""Training sets as a grid has them: made by a method, and shown to learners."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from take.cost import costing
from take.evaluation.lesson import lesson
from take.evaluation.methods.material import Material
from take.evaluation.methods.registry import method
from take.evaluation.methods.settings import BaselineSettings
from take.evaluation.store import MadeSet
from take.learners import Taught
from take.reuse.digests import file_digest, module_code

GIVEN = frozenset({"file", "distilled"})
"""Methods whose rows a user hands in: what is wrong with them is refused, not recorded."""

Sets = dict[tuple[str, int], tuple[MadeSet, Taught] | Exception]
"""By method and seed: rows as they were made and as they are taught, or why there are none."""


def make_set(
    name: str, material: Material, settings: BaselineSettings, seed: int, search: str = ""
) -> MadeSet:
    """The rows of a method, and what they took; `search` names a folder of its own to work in."""
    # A search that is done clears its folder, and with it what others beside it have so far.
    work = material.work / search if material.work is not None and search else None
    with costing() as cost:
        rows = method(name)(replace(material, work=work), settings, seed)
    if work is not None:
        with suppress(OSError):  # it was never there, or something is left in it
            work.rmdir()
    return MadeSet(rows, cost.seconds)


def given_sets(
    material: Material, settings: BaselineSettings, methods: Sequence[str], sets: int
) -> Sets:
    """The rows that a user hands in, for every seed; bad ones are refused."""
    found: Sets = {}
    for name in sorted(GIVEN & set(methods)):
        one_for_each_seed = name == "file" and "{seed}" in (settings.file or "")
        for seed in range(sets):
            if seed == 0 or one_for_each_seed:
                made = make_set(name, material, settings, seed)
                taught = lesson(made.rows, len(material.class_names))
            found[name, seed] = made, taught
    return found


def described(name: str, settings: BaselineSettings, corpus: str) -> dict[str, Any]:
    """What decides a method's rows beside settings, seed and material: its code, and its files."""
    found = method(name)
    is_function = inspect.isfunction(found)
    published = Path(settings.dilm_root or "", f"{corpus}.parquet")
    return {
        "options": "" if is_function else repr(found),
        "code": module_code(found.__module__ if is_function else type(found).__module__),
        "file": file_digest(published) if name == "dilm" and published.is_file() else "",
    }
