"""Digests of rows, fast where there are many."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from take.rows.blocks import RowBlocks, rows_at
from take.rows.labelled import LabelledRows

Part = Sequence[str] | NDArray[Any]

_SAMPLED_ROWS = 64


def digest_of(parts: Sequence[Part]) -> str:
    """SHA-256 of columns of texts and of arrays, in order.

    A column counts by its texts' lengths and then all of them in one piece, so that no text can be
    taken for two.

    >>> digest_of([["ab", "c"]]) == digest_of([["a", "bc"]])
    False
    """
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            digest.update(f"{part.dtype.str}{part.shape}".encode())
            digest.update(part.tobytes())
        else:
            lengths = np.fromiter(map(len, part), dtype="<i8", count=len(part))
            digest.update(f"texts({len(part)})".encode())
            digest.update(lengths.tobytes())
            digest.update("".join(part).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def parts_of(rows: LabelledRows | None) -> list[Part]:
    """Texts, labels, and as much of the vectors as tells one encoder from another."""
    if rows is None:
        return [["none"]]
    return [*rows.texts, rows.labels, _sample(rows.phi)]


def _sample(rows: RowBlocks) -> NDArray[Any]:
    """Some rows, spread evenly: what decides the vectors decides all of them."""
    n_rows = rows.shape[0]
    index = np.unique(np.linspace(0, max(0, n_rows - 1), min(n_rows, _SAMPLED_ROWS)).astype(int))
    return rows_at(rows, index).read(0, len(index))
