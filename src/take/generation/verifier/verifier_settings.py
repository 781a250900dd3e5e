"""Which verifier is trained, on how many rows, and what is reported of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
from pydantic import Field, NonNegativeInt

from take.frozen import Frozen
from take.learners.convergence import ConvergenceSettings
from take.learners.pretrained import TransformerSettings
from take.learners.training import UpdateSettings
from take.precision import Precision
from take.rows.arrays import Float64, Int64

VerifierKind = Literal["probe", "cross_encoder"]
TITLES: Mapping[VerifierKind, str] = {"probe": "probe", "cross_encoder": "cross-encoder"}


class VerifierSettings(Frozen):
    """`verifier` within `params:generation`. Limits are of rows and epochs, never of time.

    >>> VerifierSettings(max_epochs=5).limits.max_epochs
    5
    """

    kind: Literal["auto", "probe", "cross_encoder"] = "auto"
    """`probe`: logistic regression on φ. `cross_encoder`: a transformer that reads both texts of a
    pair at once. `auto`: a cross-encoder where the probe is weak, if it is better there."""
    weak_below: float = Field(default=0.8, ge=0, le=1)
    """Accuracy of the probe on held-out rows below which `auto` trains a cross-encoder."""
    held_out_rows: int = Field(default=2000, ge=0, le=1_000_000)
    """Train rows that no verifier is trained on: its accuracy is measured on them."""
    max_rows: int = Field(default=8000, ge=1)
    """Rows that a cross-encoder is trained on at most, drawn at random from those of the probe."""
    max_epochs: int = Field(default=2, ge=1, le=100)
    """Passes of a cross-encoder over them at most."""
    patience: int = Field(default=2, ge=1, le=100)
    """Evaluations of the validation rows, two in an epoch, without a gain that end its training."""
    batch_rows: int = Field(default=32, ge=1, le=4096)
    """Of one update of a cross-encoder."""
    learning_rate: float = Field(default=1e-4, gt=0)
    model: str = "embedded"
    """The weights that a cross-encoder starts from: 'embedded' (all-MiniLM-L6-v2), 'embedded_e5'
    (e5-small), a folder, or a hub id."""
    revision: str | None = Field(default=None, pattern=r"^[0-9a-f]{40}$")
    """The hub commit; required for a hub id."""
    max_tokens: int = Field(default=256, ge=8, le=8192)
    precision: Precision = "auto"
    """Of the products in training. The verifier predicts in float32."""
    language_models: str | None = None
    """The folder of converted weights, for 'embedded_e5'."""
    seed: int = Field(default=0, ge=0, lt=2**32)

    @property
    def transformer(self) -> TransformerSettings:
        """The cross-encoder as a learner."""
        return TransformerSettings(
            model=self.model,
            revision=self.revision,
            max_tokens=self.max_tokens,
            precision=self.precision,
            training=UpdateSettings(learning_rate=self.learning_rate),
        )

    @property
    def limits(self) -> ConvergenceSettings:
        """When its training ends."""
        return ConvergenceSettings(
            max_epochs=self.max_epochs, patience=self.patience, batch_rows=self.batch_rows
        )

    def likely_reads(self, n_rows: int, *, pairs: bool) -> int:
        """Rows, with repeats, that a cross-encoder reads in training; 0 where a probe will do.

        Before anything is trained that is a guess: a linear probe cannot judge pairs.

        >>> VerifierSettings(max_rows=500).likely_reads(2000, pairs=True)
        1000
        """
        is_likely = self.kind == "cross_encoder" or (self.kind == "auto" and pairs)
        return self.max_epochs * min(n_rows, self.max_rows) if is_likely else 0


class Scores(Frozen):
    """How well a model predicts held-out train rows."""

    accuracy: float
    """Share of held-out rows whose label it predicts."""
    macro_f1: float
    """Mean over classes of F₁ = 2 · hits / (rows of the class + rows predicted as the class)."""
    confusion: list[list[NonNegativeInt]]
    """Held-out rows by label (lines) and predicted label (columns)."""
    trained_rows: NonNegativeInt = 0
    """Train rows that it was trained on."""
    seconds: float = 0.0
    """Of its training."""

    @classmethod
    def of(
        cls,
        labels: Int64,
        predicted: Int64,
        n_classes: int,
        trained_rows: int = 0,
        seconds: float = 0.0,
    ) -> Scores:
        """The scores of predictions of at least one row.

        >>> scores = Scores.of(np.array([0, 0, 1]), np.array([0, 1, 1]), 2)
        >>> round(scores.accuracy, 3), round(scores.macro_f1, 3), scores.confusion
        (0.667, 0.667, [[1, 1], [0, 1]])
        """
        counts = np.zeros((n_classes, n_classes), dtype=np.int64)
        np.add.at(counts, (labels, predicted), 1)
        sums = counts.sum(axis=0) + counts.sum(axis=1)
        f1 = 2 * counts.diagonal() / np.maximum(sums, 1)
        return cls(
            accuracy=float(counts.trace() / counts.sum()),
            # A class that is neither there nor predicted says nothing.
            macro_f1=float(f1[sums > 0].mean()),
            confusion=counts.tolist(),
            trained_rows=trained_rows,
            seconds=seconds,
        )

    @property
    def recall(self) -> Float64:
        """Of each class, the share of its held-out rows that are predicted as it; NaN for none."""
        counts = np.array(self.confusion, dtype=np.float64)
        rows = counts.sum(axis=1)
        recall: Float64 = np.where(rows > 0, counts.diagonal() / np.maximum(rows, 1), np.nan)
        return recall


class VerifierReport(Frozen):
    """Which verifier was chosen, and how often it is right. Holds no text."""

    kind: VerifierKind
    title: str
    """What it is made from."""
    trained_rows: NonNegativeInt
    """Train rows that it was trained on."""
    validation_rows: NonNegativeInt
    """Train rows that decided when training ended."""
    held_out_rows: NonNegativeInt
    """Train rows that its accuracy was measured on; none is related to a row of the other two."""
    classes: list[str]
    """Label names by id."""
    probe: Scores | None
    """Of logistic regression on φ; none where there are no held-out rows."""
    cross_encoder: Scores | None = None
    """None where none was trained."""
    epochs: float | None = None
    """Of the cross-encoder."""
    precision: Precision | None = None
    """Of the products in its training."""

    @property
    def scores(self) -> Scores | None:
        """Of the one that was chosen."""
        return self.probe if self.kind == "probe" else self.cross_encoder

    def agreement(self, shares: Float64) -> float | None:
        """How often the verifier predicts the label of real held-out rows with this mix of classes.

        Σ_c share_c · recall_c over the classes that have held-out rows, shares scaled to sum to 1.
        """
        if self.scores is None:
            return None
        recall = self.scores.recall
        known = np.isfinite(recall) & (shares > 0)
        return float(np.average(recall[known], weights=shares[known])) if known.any() else None

    def summary(self) -> str:
        """Which, and how good, in one line."""
        name = TITLES[self.kind]
        if self.scores is None:
            return f"{name}, not measured: no rows could be held out"
        return f"{name}, {self.scores.accuracy:.1%} on held-out train rows"
