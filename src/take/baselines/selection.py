"""Rows of the pool, by any selector: `take` itself, and what it is compared with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from take.baselines.material import Material, TrainingSet, taken_rows
from take.baselines.settings import BaselineSettings
from take.errors import InputError
from take.selection.problem import SelectionProblem
from take.selection.registry import selector
from take.selection.weights import tempered


@dataclass(frozen=True)
class Selection:
    """A selector on the pool; what is not given here is as the settings have it.

    Another kernel is another `weights` in the material; no κ is `tempering` 0.
    """

    selector: str | None = None
    tempering: float | None = None

    def __call__(self, material: Material, settings: BaselineSettings, seed: int) -> TrainingSet:
        """The chosen candidates, class by class, each with weight 1."""
        changes = {"selector": self.selector, "tempering": self.tempering, "seed": seed}
        given = {name: value for name, value in changes.items() if value is not None}
        choice = settings.selection.model_copy(update=given)
        if material.pool is None or not len(material.pool):
            raise InputError(
                f"there is no pool for {choice.selector!r} to select from",
                where=f"corpus {material.name}",
                remedy="run the pipeline 'generation' first",
            )
        if material.unseen is None and choice.selector == "exam":
            raise InputError(
                "'exam' is not told which rows the language model has not learnt from",
                where=f"corpus {material.name}",
                remedy="give the material `unseen` rows, or choose another selector",
            )
        problem = SelectionProblem(
            corpus=material.corpus,
            weights=tempered(material.weights, choice.tempering),
            pool=material.pool,
            budgets=material.budgets,
            unseen=np.empty(0, dtype=np.int64) if material.unseen is None else material.unseen,
            scope=choice.scope,
        )
        found = selector(choice.selector)(problem, choice, material.work)
        return taken_rows(material.pool, found.rows, "pool")
