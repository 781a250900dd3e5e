"""Training sets as a grid has them: made by a method, and shown to learners."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np

from take.baselines.material import Material
from take.baselines.registry import method
from take.baselines.settings import BaselineSettings
from take.evaluation.cost import costing
from take.evaluation.store import MadeSet
from take.learners import Taught, Texts

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


def taught_rows(made: MadeSet, material: Material) -> Taught:
    """What a learner is shown of a set: rows that count for nothing it is not."""
    rows, n_classes = made.rows, len(material.class_names)
    if np.all(rows.weights == 1):
        # A copy: of a table's labels, which nobody can write to, torch warns.
        return Taught(Texts.of(*rows.texts), rows.labels.copy(), n_classes)
    counted = np.flatnonzero(rows.weights > 0)
    texts = ([column[row] for row in counted] for column in rows.texts)
    return Taught(Texts.of(*texts), rows.labels[counted], n_classes, rows.weights[counted])


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
                taught = taught_rows(made, material)
            found[name, seed] = made, taught
    return found
