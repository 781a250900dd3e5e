"""The artifacts of a corpus, as methods and learners need them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from take.corpus.budget import Budget
from take.encoder.embeddings import Embeddings
from take.encoder.encode import EmbeddingSettings, Encoder, embed_corpus
from take.errors import InputError
from take.evaluation.grid import Experiment, shared_for
from take.evaluation.grid_settings import Run
from take.evaluation.methods.material import EvaluationCopies, Material, TrainingSet
from take.evaluation.sealed_split import SealedSplit
from take.generation.pool import all_rows, pool_rows
from take.generation.screening.reasons import Reason
from take.learners import Shared, Texts
from take.reuse.digests import module_code, value_digest
from take.rows.arrays import Float64
from take.rows.labelled import (
    TEXT_COLUMNS,
    LabelledRows,
    class_ids,
    class_names,
    class_sizes,
    task_of,
    text_columns,
)
from take.scoring.diagnostics import StudyReport
from take.scoring.influence import InfluenceMatrix
from take.scoring.scorers import Evidence, score
from take.scoring.scoring_inputs import ScoringSettings, ScoringWarning
from take.scoring.trajectory import ProbeTrajectory
from take.selection.selection_settings import SelectionSettings
from take.selection.tables import unseen_rows
from take.text.copies import CopySettings
from take.text.related import RelatedRows


class PreparedPool(NamedTuple):
    """A pool, and what it was made from."""

    number: int
    """Seeds its generation."""
    rows: pd.DataFrame
    ledger: pd.DataFrame
    embeddings: Embeddings
    generator_rows: pd.DataFrame


@dataclass(frozen=True)
class PreparedCorpus:
    """A corpus with its weights, its pools, and what they were made from."""

    name: str
    corpus: pd.DataFrame
    evaluation_split: pd.DataFrame
    embeddings: Embeddings
    weights: pd.DataFrame
    trajectory: ProbeTrajectory
    influence: InfluenceMatrix
    study: StudyReport
    pools: tuple[PreparedPool, ...]
    distilled: pd.DataFrame | None = None

    def split(self) -> SealedSplit:
        """The evaluation split, sealed."""
        names = class_names(self.corpus)
        found = class_names(self.evaluation_split)
        if not set(found) <= set(names):
            raise InputError(
                f"the evaluation split has the labels {found}",
                where=f"corpus {self.name}",
                allowed=", ".join(map(repr, names)),
                remedy="ingest the corpus again",
            )
        texts = Texts.of(*text_columns(self.evaluation_split))
        return SealedSplit(texts, class_ids(self.evaluation_split), len(names))

    def experiments(
        self,
        runs: Sequence[Run],
        encoder: Encoder,
        scoring: ScoringSettings,
        selection: SelectionSettings,
        copies: CopySettings,
        shared: Shared,
        folder: Path,
    ) -> list[Experiment]:
        """The runs on this corpus; `folder` keeps checkpoints of long searches."""
        work, split, sizes = folder / "searches", self.split(), class_sizes(self.corpus)
        first = runs[0].budget
        materials = self.materials(first, encoder, scoring, selection, copies, work)
        of_corpus = shared_for(materials[0], shared)
        return [
            Experiment(
                self.name,
                budget,
                tuple(
                    replace(material, budgets=Budget.parse(budget).split(sizes))
                    for material in materials
                ),
                split,
                of_corpus,
                methods,
                learners,
            )
            for budget, methods, learners in runs
        ]

    def materials(
        self,
        budget: str,
        encoder: Encoder,
        scoring: ScoringSettings,
        selection: SelectionSettings,
        copies: CopySettings,
        work: Path | None = None,
    ) -> tuple[Material, ...]:
        """What methods make training sets from, at a budget: once for each pool."""
        related = RelatedRows(list(zip(*text_columns(self.corpus), strict=True)), copies)
        wanted = selection.exam.exam_rows
        return tuple(
            Material(
                name=self.name,
                corpus=LabelledRows.of(self.corpus, self.embeddings),
                weights=self.weights["weight"].to_numpy(),
                class_names=tuple(class_names(self.corpus)),
                budgets=Budget.parse(budget).split(class_sizes(self.corpus)),
                pool=LabelledRows.of(pool.rows, pool.embeddings),
                pool_number=pool.number,
                unseen=unseen_rows(self.corpus, pool.generator_rows, related, wanted),
                related=related,
                evaluation=EvaluationCopies(self.evaluation_split),
                work=work,
                kernel_weights=cache(lambda kernel: self._kernel_weights(kernel, scoring)),
                unfiltered=cache(partial(self._unfiltered, pool, encoder)),
                distilled=self._distilled(),
                variants=self._variants(pool, scoring, copies),
            )
            for pool in self.pools
        )

    def _variants(self, pool: PreparedPool, scoring: ScoringSettings, copies: CopySettings) -> str:
        """A digest of what decides the material's callables."""
        reasons = all_rows(pool.rows, pool.ledger)["reason"].value_counts().to_dict()
        code = module_code("take.scoring.scorers", "take.text.related")
        parts = {"scoring": scoring, "decay": self.study.decay, "copies": copies}
        return value_digest({**parts, "code": code, "reasons": reasons})

    def _kernel_weights(self, kernel: str, scoring: ScoringSettings) -> Float64:
        """κ by another temporal kernel, with everything else as in the scoring."""
        settings = ScoringSettings.model_validate(
            {**scoring.model_dump(), "kernel": kernel, "scorer": "trajectory"}
        )
        evidence = Evidence(
            self.embeddings,
            class_ids(self.corpus),
            settings,
            trajectory=self.trajectory,
            influence=self.influence.values,
            decay=self.study.decay,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ScoringWarning)  # logged when the corpus was scored
            return score(evidence).weights

    def _unfiltered(self, prepared: PreparedPool, encoder: Encoder) -> LabelledRows:
        """The pool and the rows that contradict their labels, all under their prompts' labels."""
        rows = all_rows(prepared.rows, prepared.ledger)
        judged = rows[rows["reason"].isin(["", Reason.LABEL_CONTRADICTED.value])].assign(reason="")
        judged = judged.assign(label=judged["prompt_label"])
        columns = TEXT_COLUMNS[task_of(self.corpus)]
        pool = pool_rows(judged, class_names(self.corpus), columns)
        embedded = embed_corpus(text_columns(pool), encoder, EmbeddingSettings())
        return LabelledRows.of(pool, embedded.embeddings)

    def _distilled(self) -> TrainingSet | None:
        return None if self.distilled is None else as_training_set(self.distilled)


def as_training_set(distilled: pd.DataFrame) -> TrainingSet:
    """Distilled rows as a training set."""
    weights = distilled["weight"].to_numpy(dtype=np.float64)
    return TrainingSet(text_columns(distilled), class_ids(distilled), weights / weights.mean())
