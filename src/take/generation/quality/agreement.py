"""Whether the probe reads the given label off the text, in generated rows and in real ones."""

from __future__ import annotations

import numpy as np
import pandas as pd

from take.generation.quality.evidence import PoolEvidence
from take.generation.quality.report import Agreement
from take.generation.quality.settings import QualitySettings
from take.rows.arrays import Bools, Int64
from take.rows.blocks import RowBlocks, map_blocks

# Rows that passed everything but, perhaps, the check of their label.
_WELL_MADE = ("", "surplus", "label_contradicted")


class Agreements:
    """Where probe and label agree: in well-made generated rows, in kept rows, in real rows."""

    def __init__(self, evidence: PoolEvidence, settings: QualitySettings) -> None:
        judged = evidence.judged
        judged = judged[judged["reason"].isin(_WELL_MADE) & judged["probe_label"].notna()]
        self._before = _agrees(judged)
        self.before_labels = judged["label"].to_numpy(dtype=np.int64)
        rows = settings.block_rows
        self._after = _probe_agrees(evidence, evidence.pool_embeddings, evidence.pool_labels, rows)
        self._corpus = _probe_agrees(evidence, evidence.embeddings, evidence.corpus_labels, rows)

    def of(self, before: slice | Bools, after: slice | Bools, corpus: slice | Bools) -> Agreement:
        """Shares over some rows of each."""
        return Agreement(
            before=_share(self._before[before]),
            after=None if self._after is None else _share(self._after[after]),
            corpus=None if self._corpus is None else _share(self._corpus[corpus]),
        )


def _agrees(rows: pd.DataFrame) -> Bools:
    agrees: Bools = (rows["probe_label"] == rows["label"]).to_numpy(dtype=np.bool_, na_value=False)
    return agrees


def _probe_agrees(
    evidence: PoolEvidence, rows: RowBlocks, labels: Int64, block_rows: int
) -> Bools | None:
    """Whether argmax_c ⟨w_c, φ⟩ + b_c is the label of each row."""
    weights, biases = evidence.probe_weights, evidence.probe_biases
    if weights is None or biases is None:
        return None
    parts = map_blocks(
        lambda _, block: (block @ weights.T + biases).argmax(axis=1),
        rows,
        block_rows,
    )
    agrees: Bools = np.concatenate([np.empty(0, np.int64), *parts]) == labels
    return agrees


def _share(values: Bools) -> float | None:
    return float(values.mean()) if len(values) else None
