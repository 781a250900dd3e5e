"""The whole corpus: the ceiling."""

from __future__ import annotations

import numpy as np

from take.evaluation.methods.material import Material, TrainingSet, taken_rows
from take.evaluation.methods.settings import BaselineSettings


def full(material: Material, settings: BaselineSettings, seed: int) -> TrainingSet:
    """Every row, whatever the budget, each with weight 1."""
    return taken_rows(material.corpus, np.arange(len(material.corpus)), "corpus")
