"""The rows a run has distilled, as they were exported."""

from __future__ import annotations

from take.errors import InputError
from take.evaluation.methods.errors import NotApplicableError
from take.evaluation.methods.material import Material, TrainingSet
from take.evaluation.methods.settings import BaselineSettings


def distilled(material: Material, settings: BaselineSettings, seed: int) -> TrainingSet:
    """The run's own rows; the same for every seed, and of no other budget than the run's."""
    if material.distilled is None:
        raise NotApplicableError(
            "there are no distilled rows",
            where=f"corpus {material.name}",
            remedy="run the pipeline 'distillation' first, or leave 'distilled' out",
        )
    found, budget = len(material.distilled), sum(material.budgets)
    if found != budget:
        raise InputError(
            f"the run distilled {found} rows",
            where=f"corpus {material.name}, method 'distilled'",
            allowed=f"{budget}, the budget they are to be evaluated at",
            remedy="distil at this budget, or evaluate at the run's",
        )
    return material.distilled
