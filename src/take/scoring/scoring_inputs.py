"""What scoring accepts: settings, embeddings and labels, checked before anything is computed."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field, field_validator, model_validator

from take.errors import InputError
from take.frozen import Frozen
from take.rows.arrays import Float32, Int64
from take.rows.blocks import RowBlocks, squared_norms
from take.rows.passes import compute_blocks

NORM_TOLERANCE = 1e-3
KernelName = Literal["exponential", "linear", "cosine", "constant", "last"]
ScheduleName = Literal["even", "log"]
KernelValue = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Decay = Annotated[float, Field(gt=0, le=1000)]


class ScoringSettings(Frozen):
    """Parameters of the scoring stage (METHOD §1).

    >>> ScoringSettings(checkpoints=5).checkpoints
    5
    """

    scorer: str = "trajectory"
    """Name of a scorer in the registry."""
    seed: int = Field(default=0, ge=0, lt=2**32)
    block_rows: int = Field(default=2048, ge=1, le=1_000_000)
    """Rows in memory at a time."""

    checkpoints: int = Field(default=20, ge=2, le=1000)
    """T, counting the untrained head."""
    schedule: ScheduleName = "even"
    """How checkpoints are spread over updates."""
    epochs: int = Field(default=10, ge=1, le=1000)
    batch_size: int = Field(default=256, ge=1, le=65_536)
    """At most; less where the corpus is small."""
    learning_rate: float = Field(default=0.01, gt=0, le=10)
    weight_decay: float = Field(default=0.01, ge=0, le=1)
    validation_share: float = Field(default=0.05, gt=0, le=0.5)
    """Rows that the second probe is not trained on."""

    kernel: KernelName | tuple[KernelValue, ...] = "exponential"
    """k(t) of Eq. 9 by name, or its T values."""
    kernel_decay: Decay | Literal["auto"] = "auto"
    """λ; auto is T / T_m."""
    floor: float = Field(default=0.1, gt=0, le=1)
    """Smallest I, as a fraction of its column mean."""
    cap: float = Field(default=5.0, gt=1, le=1_000_000)
    """Largest weight, as a multiple of 1/N."""

    noise_share: float = Field(default=0.1, gt=0, le=0.5)
    """Labels flipped in the noisy copy."""
    damping: float = Field(default=0.1, gt=0, le=10)
    """Added to H, in units of its mean diagonal."""
    bootstrap_resamples: int = Field(default=1000, ge=100, le=100_000)

    @field_validator("scorer")
    @classmethod
    def _scorer_is_registered(cls, name: str) -> str:
        # Imported here because the scorers themselves read these settings.
        from take.scoring.scorers import SCORERS

        if name not in SCORERS:
            raise ValueError(f"scorer is {name!r}; registered scorers are {', '.join(SCORERS)}")
        return name

    @model_validator(mode="after")
    def _custom_kernel_fits(self) -> ScoringSettings:
        if not isinstance(self.kernel, str):
            if len(self.kernel) != self.checkpoints:
                raise ValueError(
                    f"kernel has {len(self.kernel)} values but there are {self.checkpoints} "
                    "checkpoints; give one value per checkpoint"
                )
            if not any(self.kernel):
                raise ValueError("kernel is zero everywhere; at least one value must be positive")
        return self


class ScoringError(InputError):
    """Numbers that scoring refuses to compute with.

    >>> print(ScoringError("label is 7", "row 3", "0 … 2", "fix the label column"))
    row 3: label is 7. Allowed: 0 … 2. Fix: fix the label column.
    """

    def __init__(self, what: str, where: str, allowed: str, next_step: str) -> None:
        super().__init__(what, where=where, allowed=allowed, remedy=next_step)


class ScoringWarning(UserWarning):
    """A result that was computed but should be questioned."""


def check_features(features: RowBlocks, block_rows: int) -> None:
    """Refuse embeddings that are not finite rows of unit length, naming the first bad row."""
    n_rows, n_features = features.shape
    if n_rows < 2 or n_features < 1:
        raise ScoringError(
            f"features have shape {features.shape}",
            "embeddings",
            "at least 2 rows and 1 column",
            "check that the corpus was read and embedded",
        )

    def first_bad_row(start: int, block: Float32) -> tuple[str, str, str, str] | None:
        norms = np.sqrt(squared_norms(block))
        # A NaN or an infinity anywhere in a row shows in its norm, and fails this comparison too.
        bad = ~(np.abs(norms - 1) <= NORM_TOLERANCE)
        if not bad.any():
            return None
        row = int(np.argmax(bad))
        finite = bool(np.isfinite(block[row]).all())
        return (
            f"norm is {norms[row]:.6g}" if finite else "embedding has NaN or infinite values",
            f"embeddings, row {start + row}",
            f"finite values and norm 1 ± {NORM_TOLERANCE}",
            "L2-normalise the embeddings" if finite else "embed that row's text again",
        )

    for wrong in compute_blocks(first_bad_row, features, block_rows=block_rows):
        if wrong:  # in the first block that has such a row, whichever was computed first
            raise ScoringError(*wrong)


def check_labels(labels: Int64, n_rows: int, n_classes: int | None = None) -> int:
    """Count the classes, after refusing labels that are not 0 … C−1 for each of the N rows.

    >>> check_labels(np.array([0, 2, 1]), n_rows=3)
    3
    """
    if labels.shape != (n_rows,) or not np.issubdtype(labels.dtype, np.integer):
        raise ScoringError(
            f"labels are {labels.dtype} of shape {labels.shape}",
            "labels",
            f"integers of shape ({n_rows},), one per embedding",
            "align the label column with the embeddings",
        )
    highest = int(labels.max()) if n_classes is None else n_classes - 1
    bad = (labels < 0) | (labels > highest)
    if bad.any():
        row = int(np.argmax(bad))
        raise ScoringError(
            f"label is {labels[row]}",
            f"labels, row {row}",
            f"0 … {max(highest, 1)}",
            "map the corpus's labels to consecutive ids",
        )
    if (labels == labels[0]).all():
        raise ScoringError(
            f"every row has label {labels[0]}",
            "labels",
            "two classes or more",
            "check the label column; one class leaves nothing to learn",
        )
    return highest + 1
