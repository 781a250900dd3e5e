"""Training sets of a grid: made by a method, as learners are trained on them."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from take.cost import costing
from take.evaluation.methods import method
from take.evaluation.methods.material import BaselineSettings, Material
from take.evaluation.store import MadeSet
from take.learners import TrainingRows
from take.reuse.digests import file_digest, module_code

GIVEN = frozenset({"file", "distilled"})
"""Methods whose rows a user provides: bad rows are refused at once, not recorded as a failure."""

Sets = dict[tuple[str, int], tuple[MadeSet, TrainingRows] | Exception]
"""By method and seed: rows as made and as trained on, or the error."""


def make_set(
    name: str, material: Material, settings: BaselineSettings, seed: int, search: str = ""
) -> MadeSet:
    """The rows of a method, and the seconds; `search` names its own folder for checkpoints."""
    # A finished search clears its folder, so that it must not share one with others.
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
    """The rows that a user provides, for every seed; bad ones are refused."""
    found: Sets = {}
    for name in sorted(GIVEN & set(methods)):
        one_for_each_seed = name == "file" and "{seed}" in (settings.file or "")
        for seed in range(sets):
            if seed == 0 or one_for_each_seed:
                made = make_set(name, material, settings, seed)
                rows = TrainingRows.of(made.rows, len(material.class_names))
            found[name, seed] = made, rows
    return found


def described(name: str, settings: BaselineSettings, corpus: str) -> dict[str, Any]:
    """What decides a method's rows apart from settings, seed and material: its code and files."""
    found = method(name)
    is_function = inspect.isfunction(found)
    published = Path(settings.dilm_root or "", f"{corpus}.parquet")
    return {
        "options": "" if is_function else repr(found),
        "code": module_code(found.__module__ if is_function else type(found).__module__),
        "file": file_digest(published) if name == "dilm" and published.is_file() else "",
    }
