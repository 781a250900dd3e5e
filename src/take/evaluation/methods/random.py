"""Rows drawn at random: the floor."""

from __future__ import annotations

import numpy as np

from take.evaluation.methods.material import Material, TrainingSet, taken_rows
from take.evaluation.methods.settings import BaselineSettings
from take.rows.random import rng

# Apart from every other stream that the same seed starts.


def random(material: Material, settings: BaselineSettings, seed: int) -> TrainingSet:
    """K_c rows of each class, each set as likely as any other; nested in K."""
    chosen = [np.empty(0, dtype=np.int64)]
    for label, budget in enumerate(material.budgets):
        members = material.members(label)
        order = rng(seed, "stratified rows", label).permutation(len(members))
        chosen.append(members[order[:budget]])
    return taken_rows(material.corpus, np.concatenate(chosen), "corpus")


def random_unstratified(material: Material, settings: BaselineSettings, seed: int) -> TrainingSet:
    """Σ K_c rows of all, whatever their class, as the paper draws them; nested in K.

    Classes come out uneven, and at a tiny budget one may be missing altogether.
    """
    order = rng(seed, "unstratified rows").permutation(len(material.corpus))
    return taken_rows(material.corpus, order[: sum(material.budgets)], "corpus")
