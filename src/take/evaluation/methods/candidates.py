"""What a selection chooses from: the pool, the pool before its label filter, or real rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np

from take.evaluation.methods.errors import NotApplicableError
from take.evaluation.methods.material import Material, Source
from take.rows.arrays import Int64
from take.rows.labelled import LabelledRows, content_id
from take.rows.random import rng

CandidatesName = Literal["pool", "unfiltered", "corpus"]


class Candidates(NamedTuple):
    """Rows to choose from, and corpus rows to ask a learner that is taught with some of them."""

    table: LabelledRows
    source: Source
    numbers: Int64  # where the rows stand in their source
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
    """The pool with the rows that its label filter dropped."""
    if material.unfiltered is None:
        raise NotApplicableError(
            "the pool as it was before the label filter is not known",
            where=f"corpus {material.name}, candidates 'unfiltered'",
            remedy="give the material `unfiltered`, or leave 'take_unfiltered' out",
        )
    table = material.unfiltered()
    return Candidates(table, "unfiltered", np.arange(len(table)), material.unseen)


def corpus_rows(material: Material, seed: int) -> Candidates:
    """Real rows, as many of each class as the pool has, or as there are; drawn by the seed.

    Rows that the language model has learnt from come first. Of the others no more than half are
    drawn, unless the budget needs them, so that there are rows left to ask; and none is asked
    whose texts are a candidate's.
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
        taken = set(_keys(corpus, numbers))
        unseen = unseen[[key not in taken for key in _keys(corpus, unseen)]]
    return Candidates(corpus.take(numbers), "corpus", numbers, unseen)


CANDIDATES: dict[CandidatesName, Callable[[Material, int], Candidates]] = {
    "pool": pool_rows,
    "unfiltered": unfiltered_rows,
    "corpus": corpus_rows,
}


def _keys(rows: LabelledRows, index: Int64) -> list[str]:
    return [content_id(texts) for texts in zip(*rows.take(index).texts, strict=True)]
