"""Made-up rows for the nodes of `distillation`: no Kedro run, no model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from take.audit.privacy.objections import OBJECTION_COLUMNS
from take.audit.privacy.pii import PiiSettings
from take.encoder.embeddings import Embeddings, MappedVectors
from take.pipelines.distillation import nodes
from take.selection.selection_settings import DescriptionSettings, SelectionSettings
from take.text.copies import CopySettings

NAMES = ["bad", "good", "odd"]
N_FEATURES = 12
EXAM = {"exam_rows": 200, "validation_rows": 100, "max_sweeps": 5, "patience": 9}
NO_OBJECTION = pd.DataFrame(columns=list(OBJECTION_COLUMNS)).astype(OBJECTION_COLUMNS)
DESCRIPTION = DescriptionSettings(sample_rows=100, lineage_rows=5)


# The rows are near copies of each other, so that only the same words make one.
COPIES = CopySettings(near_copy_overlap=1.0)


@dataclass(frozen=True)
class Made:
    """What the stages before have made."""

    corpus: pd.DataFrame
    embeddings: Embeddings
    weights: pd.DataFrame
    pool: pd.DataFrame
    pool_embeddings: Embeddings
    generator_rows: pd.DataFrame

    def chosen(
        self,
        work: Path,
        previous: pd.DataFrame | None = None,
        budget: str | int = 15,
        objections: pd.DataFrame | None = None,
        **options: Any,
    ) -> nodes.ChosenRows:
        settings = SelectionSettings(**{"exam": EXAM, **options})
        inputs = [getattr(self, name) for name in self.__dataclass_fields__]
        against = NO_OBJECTION if objections is None else objections
        return nodes.select_rows(*inputs, against, work, budget, settings, COPIES, previous)

    def objections(self, evaluation_split: pd.DataFrame | None = None) -> pd.DataFrame:
        unread = self.corpus.head(0) if evaluation_split is None else evaluation_split
        inputs = self.pool, self.corpus, unread
        return nodes.screen_candidates(*inputs, CopySettings(), PiiSettings())

    def traced(self, selection: pd.DataFrame, **description: Any) -> nodes.TracedRows:
        settings = DESCRIPTION.model_copy(update=description)
        return nodes.trace_rows(selection, *self._both(), SelectionSettings(exam=EXAM), settings)

    def described(
        self, traced: nodes.TracedRows, chosen: nodes.ChosenRows, **choice: Any
    ) -> nodes.Description:
        settings = SelectionSettings(**{"exam": EXAM, **choice})
        inputs = (traced.distilled, traced.trace, *chosen[1:3], *self._both())
        return nodes.describe_distilled(*inputs, settings, DESCRIPTION)

    def _both(self) -> tuple[Any, ...]:
        return self.pool, self.pool_embeddings, self.corpus, self.embeddings, self.weights


def rows(n: int, prefix: str, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Three classes that overlap in vectors and in words; more rows begin with the same ones."""
    centres = np.random.default_rng(0).standard_normal((3, N_FEATURES)) * 0.5
    noise = np.random.default_rng([seed, 0]).standard_normal((n, N_FEATURES))
    words = np.random.default_rng([seed, 1]).integers(0, 30, (n, 4))
    labels = np.arange(n) % 3
    phi = centres[labels] + noise
    phi /= np.linalg.norm(phi, axis=1, keepdims=True)
    texts = [
        f"{prefix} {i} c{y} w{'x w'.join(map(str, w))}"
        for i, (y, w) in enumerate(zip(labels, words, strict=True))
    ]
    table = pd.DataFrame(
        {
            "id": [f"{prefix}-{i}" for i in range(n)],
            "text": texts,
            "label": labels,
            "label_name": [NAMES[label] for label in labels],
        }
    )
    return table, phi.astype(np.float32)


def embedded(phi: np.ndarray) -> Embeddings:
    return Embeddings(MappedVectors(phi), np.arange(len(phi))[:, None])


def make(n_rows: int = 600) -> Made:
    corpus, phi = rows(n_rows, "row", 1)
    pool, pool_phi = rows(90, "candidate", 2)
    weights = np.random.default_rng(3).gamma(2.0, 1.0, n_rows)
    return Made(
        corpus,
        embedded(phi),
        pd.DataFrame({"id": corpus["id"], "weight": weights / weights.sum()}),
        pool,
        embedded(pool_phi),
        pd.DataFrame(
            {
                "id": corpus["id"],
                "role": ["trained" if i < 200 else "validation" for i in range(n_rows)],
            }
        ),
    )
