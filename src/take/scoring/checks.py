"""Scoring's errors, and the input checks that run in one streamed pass before any computation."""

from __future__ import annotations

import numpy as np

from take.errors import InputError
from take.rows.arrays import Float32, Int64
from take.rows.blocks import RowBlocks, map_blocks, squared_norms

NORM_TOLERANCE = 1e-3


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

    def refuse_bad_rows(start: int, block: Float32) -> None:
        norms = np.sqrt(squared_norms(block))
        # A NaN or an infinity anywhere in a row shows in its norm, and fails this comparison too.
        bad = ~(np.abs(norms - 1) <= NORM_TOLERANCE)
        if bad.any():
            row = int(np.argmax(bad))
            finite = bool(np.isfinite(block[row]).all())
            raise ScoringError(
                f"norm is {norms[row]:.6g}" if finite else "embedding has NaN or infinite values",
                f"embeddings, row {start + row}",
                f"finite values and norm 1 ± {NORM_TOLERANCE}",
                "L2-normalise the embeddings" if finite else "embed that row's text again",
            )

    for _ in map_blocks(refuse_bad_rows, features, block_rows):
        pass


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
