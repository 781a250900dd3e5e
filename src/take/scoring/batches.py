"""Shuffled minibatches of features that may be larger than memory.

A full shuffle would read single rows at random, which is slow on a disk. Instead each epoch
visits chunks of 64 neighbouring rows in random order, gathers 128 of them into a window of 8,192
rows, and shuffles the rows of the window. A corpus that is sorted by class is still well mixed, and
memory holds one window. A corpus smaller than a window is shuffled fully.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from take.rows.arrays import Float32, Int64
from take.rows.blocks import RowBlocks
from take.rows.random import rng

CHUNK_ROWS = 64
WINDOW_CHUNKS = 128


class Batch(NamedTuple):
    """Some rows of the corpus: their numbers and their features."""

    rows: Int64
    features: Float32


def _windows(features: RowBlocks, random: np.random.Generator) -> Iterator[Batch]:
    """One epoch: every row once, in shuffled windows of chunks that were drawn at random."""
    n_rows = features.shape[0]
    chunk_starts = random.permutation(np.arange(0, n_rows, CHUNK_ROWS))
    for first in range(0, len(chunk_starts), WINDOW_CHUNKS):
        bounds = [
            (int(start), min(int(start) + CHUNK_ROWS, n_rows))
            for start in chunk_starts[first : first + WINDOW_CHUNKS]
        ]
        rows = np.concatenate([np.arange(start, stop) for start, stop in bounds])
        block = np.concatenate([features.read(start, stop) for start, stop in bounds])
        order = random.permutation(len(rows))
        yield Batch(rows[order], block[order])


def shuffled_batches(
    features: RowBlocks, batch_size: int, n_batches: int, seed: int
) -> Iterator[Batch]:
    """`n_batches` batches of exactly `batch_size` rows, epoch after epoch.

    Rows left over from one window open the next batch, so that no batch is short.

    >>> from take.rows.blocks import ArrayBlocks
    >>> features = ArrayBlocks(np.eye(4, dtype=np.float32))
    >>> two = list(shuffled_batches(features, batch_size=2, n_batches=2, seed=0))
    >>> sorted(int(row) for batch in two for row in batch.rows)
    [0, 1, 2, 3]
    """
    random = rng(seed, "probe batches")
    left = Batch(np.empty(0, np.int64), np.empty((0, features.shape[1]), np.float32))
    sent = 0
    while True:
        for window in _windows(features, random):
            rows = np.concatenate([left.rows, window.rows])
            block = np.concatenate([left.features, window.features])
            whole = len(rows) - len(rows) % batch_size
            for start in range(0, whole, batch_size):
                if sent == n_batches:
                    return
                stop = start + batch_size
                yield Batch(rows[start:stop], block[start:stop])
                sent += 1
            left = Batch(rows[whole:], block[whole:])
        if sent == n_batches:
            return
