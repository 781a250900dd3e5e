"""Candidates chosen by any selector: `take`, its variants, and `kmeans_pool`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from take.errors import InputError
from take.evaluation.methods.material import (
    BaselineSettings,
    Material,
    NotApplicableError,
    Source,
    TrainingSet,
    taken_rows,
)
from take.rows.arrays import Float64, Int64
from take.rows.labelled import LabelledRows
from take.rows.random import rng
from take.selection.problem import SelectionProblem, selection_weights
from take.selection.selection_settings import ClassMass
from take.selection.selectors import selector
from take.text.related import RelatedRows

CandidatesName = Literal["pool", "unfiltered", "corpus"]


class Candidates(NamedTuple):
    """Rows to choose from, and the corpus rows that may serve as exam rows."""

    table: LabelledRows
    source: Source
    numbers: Int64  # the rows' numbers in their source
    unseen: Int64 | None


def pool_rows(material: Material, seed: int) -> Candidates:
    """The pool as it is."""
    if material.pool is None or not len(material.pool):
        raise NotApplicableError(
            "there is no pool to select from",
            where=f"corpus {material.name}",
            remedy="run the pipeline 'generation' first",
        )
    return Candidates(material.pool, "pool", np.arange(len(material.pool)), material.unseen)


def unfiltered_rows(material: Material, seed: int) -> Candidates:
    """The pool together with the rows that its label filter dropped."""
    if material.unfiltered is None:
        raise NotApplicableError(
            "the pool before the label filter is not available",
            where=f"corpus {material.name}, candidates 'unfiltered'",
            remedy="give the material `unfiltered`, or leave 'take_unfiltered' out",
        )
    table = material.unfiltered()
    return Candidates(table, "unfiltered", np.arange(len(table)), material.unseen)


def corpus_rows(material: Material, seed: int) -> Candidates:
    """Corpus rows instead of generated ones, as many of each class as the pool has (or all).

    Rows that the language model was trained on come first. At most half of the others are drawn,
    unless the budget needs more, so that exam rows are left; and no exam row contains a candidate,
    lies in one, or nearly repeats one.
    """
    corpus, unseen = material.corpus, material.unseen
    pool = pool_rows(material, seed).table
    is_new = np.zeros(len(corpus), dtype=bool)
    if unseen is not None:
        is_new[unseen] = True
    drawn = [np.empty(0, dtype=np.int64)]
    for label, budget in enumerate(material.budgets):
        members = rng(seed, "candidates", label).permutation(material.members(label))
        known, new = members[~is_new[members]], members[is_new[members]]
        most = max(budget, len(known) + len(new) // 2)
        wanted = max(budget, int((pool.labels == label).sum()))
        drawn.append(np.concatenate([known, new])[: min(wanted, most)])
    numbers = np.sort(np.concatenate(drawn))
    if unseen is not None:
        related = material.related or RelatedRows(list(zip(*corpus.texts, strict=True)))
        unseen = unseen[~related.to(numbers)[unseen]]
    return Candidates(corpus.take(numbers), "corpus", numbers, unseen)


CANDIDATES: dict[CandidatesName, Callable[[Material, int], Candidates]] = {
    "pool": pool_rows,
    "unfiltered": unfiltered_rows,
    "corpus": corpus_rows,
}


@dataclass(frozen=True)
class Selection:
    """A selector on some candidates; what is not given here follows the settings."""

    selector: str | None = None
    tempering: float | None = None  # 0 is without κ
    class_mass: ClassMass | None = None
    kernel: str | None = None  # κ by this temporal kernel, rather than the material's weights
    candidates: CandidatesName = "pool"
    length_quantiles: tuple[float, float] | None = None  # of exam rows
    playoff: bool = False  # as the settings say; variants are compared without, by one search each

    def __call__(self, material: Material, settings: BaselineSettings, seed: int) -> TrainingSet:
        """The chosen candidates, class by class, each with weight 1."""
        exam = settings.selection.exam
        if self.length_quantiles is not None:
            exam = exam.model_copy(update={"length_quantiles": self.length_quantiles})
        changes = {
            "selector": self.selector,
            "tempering": self.tempering,
            "class_mass": self.class_mass,
            "seed": seed,
            "exam": exam.without_recipes() if self.playoff else exam.without_playoff(),
        }
        given = {name: value for name, value in changes.items() if value is not None}
        choice = settings.selection.model_copy(update=given)
        candidates = CANDIDATES[self.candidates](material, seed)
        if candidates.unseen is None and choice.selector == "exam":
            raise InputError(
                "'exam' needs corpus rows that the language model was not trained on",
                where=f"corpus {material.name}",
                remedy="give the material `unseen` rows, or choose another selector",
            )
        unseen = np.empty(0, dtype=np.int64) if candidates.unseen is None else candidates.unseen
        problem = SelectionProblem(
            material.corpus,
            selection_weights(self._weights(material), material.corpus.labels, choice),
            candidates.table,
            material.budgets,
            unseen,
            choice.scope,
            related=material.related,
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
                "the weights by other kernels are not available",
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
