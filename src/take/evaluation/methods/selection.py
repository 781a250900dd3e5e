"""Candidates chosen by any selector: `take` itself, and what it is compared with."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from take.errors import InputError
from take.evaluation.methods.candidates import CANDIDATES, CandidatesName
from take.evaluation.methods.errors import NotApplicableError
from take.evaluation.methods.material import Material, TrainingSet, taken_rows
from take.evaluation.methods.settings import BaselineSettings
from take.rows.arrays import Float64
from take.selection.problem import selection_problem
from take.selection.selectors import selector


@dataclass(frozen=True)
class Selection:
    """A selector on some candidates; what is not given here is as the settings have it."""

    selector: str | None = None
    tempering: float | None = None  # 0 is without κ
    kernel: str | None = None  # κ by this temporal kernel, rather than the material's weights
    candidates: CandidatesName = "pool"

    def __call__(self, material: Material, settings: BaselineSettings, seed: int) -> TrainingSet:
        """The chosen candidates, class by class, each with weight 1."""
        changes = {"selector": self.selector, "tempering": self.tempering, "seed": seed}
        given = {name: value for name, value in changes.items() if value is not None}
        choice = settings.selection.model_copy(update=given)
        candidates = CANDIDATES[self.candidates](material, seed)
        if candidates.unseen is None and choice.selector == "exam":
            raise InputError(
                "'exam' is not told which rows the language model has not learnt from",
                where=f"corpus {material.name}",
                remedy="give the material `unseen` rows, or choose another selector",
            )
        unseen = np.empty(0, dtype=np.int64) if candidates.unseen is None else candidates.unseen
        problem = selection_problem(
            material.corpus,
            self._weights(material),
            candidates.table,
            material.budgets,
            unseen,
            choice,
        )
        found = selector(choice.selector)(problem, choice, material.work)
        taken = taken_rows(candidates.table, found.rows, candidates.source)
        return replace(taken, rows=candidates.numbers[found.rows])

    def _weights(self, material: Material) -> Float64:
        if self.kernel is None:
            return material.weights
        where = f"corpus {material.name}, kernel {self.kernel!r}"
        if material.kernel_weights is None:
            raise NotApplicableError(
                "the weights of other kernels are not known",
                where=where,
                remedy=f"give the material `kernel_weights`, or leave 'take_kernel_{self.kernel}' "
                "out",
            )
        weights = material.kernel_weights(self.kernel)
        if weights.shape != material.weights.shape:
            raise InputError(
                f"there are {weights.size} weights",
                where=where,
                allowed=f"one for each of {len(material.corpus)} rows",
                remedy="weigh the rows of this very corpus",
            )
        return weights
