"""Embeddings of a corpus: the vectors of its unique strings, and the strings of each row.

A single text is φ(x). A pair is [u ; v ; |u−v| ; u·v] (4d), each quarter scaled so that the whole
has unit norm. Pair features are made when a block is read: stored, MNLI's would take 2.4 GB where
its strings take 0.9.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from take.reuse.tensors import MOST_HELD_BYTES, TensorStream, map_tensors, release, write_tensors
from take.rows.arrays import Float32
from take.rows.blocks import DEFAULT_BLOCK_ROWS, ArrayBlocks, RowBlocks, block_bounds, map_blocks

# |u−v| of two texts that tokenise alike is rounding noise; scaling it up would make it a feature.
_NO_DIFFERENCE = 1e-4
_ROWS_AT_ONCE = 512
_READ_AROUND_BYTES = 2**16
"""What Linux brings into memory with a row of a mapped file that is read by itself."""


class VectorStore(RowBlocks, Protocol):
    """Vectors that can be read in any order, too."""

    def take(self, indices: NDArray[np.int64]) -> Float32:
        """The vectors at these indices, in this order."""
        ...


class MappedVectors(ArrayBlocks):
    """An array, or a memory-mapped one, as a `VectorStore`.

    What was read of a mapped file is released now and then, so that memory does not grow with it.
    """

    def __init__(self, rows: Float32) -> None:
        super().__init__(rows)
        self._held_bytes = 0

    def read(self, start: int, stop: int) -> Float32:
        """The vectors start … stop-1."""
        self._count(stop - start, stop - start)
        return super().read(start, stop)

    def take(self, indices: NDArray[np.int64]) -> Float32:
        """The vectors at these indices."""
        vectors = np.empty((len(indices), self._rows.shape[1]), dtype=np.float32)
        for start, stop in block_bounds(len(indices), _ROWS_AT_ONCE):
            part = indices[start:stop]
            vectors[start:stop] = self._rows[part]
            self._count(int(part.max() - part.min()) + 1, stop - start)
        return vectors

    def _count(self, span: int, rows: int) -> None:
        """Release what is held if some rows, so far apart, make it too much."""
        self._held_bytes += min(span * self._rows[:1].nbytes, rows * _READ_AROUND_BYTES)
        if self._held_bytes > MOST_HELD_BYTES:
            release(self._rows)
            self._held_bytes = 0


@dataclass(frozen=True)
class Embeddings:
    """N rows of unit-norm features over U unique strings; a `RowBlocks`."""

    strings: VectorStore
    """(U, d) unit vectors."""
    rows: NDArray[np.int64]
    """(N, 1) or (N, 2): indices of the strings of each row."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Vectors of a mapped file do not travel; of others, those that the rows use."""
        if isinstance(self.strings, ArrayBlocks) and self.strings.is_mapped:
            return Embeddings, (self.strings, self.rows)
        used, places = np.unique(self.rows, return_inverse=True)
        return Embeddings, (MappedVectors(self.strings.take(used)), places.reshape(self.rows.shape))

    @property
    def shape(self) -> tuple[int, int]:
        """(N, d) for single texts, (N, 4d) for pairs."""
        n_rows, n_texts = self.rows.shape
        return n_rows, self.strings.shape[1] * (1 if n_texts == 1 else 4)

    def read(self, start: int, stop: int) -> Float32:
        """The features of rows start … stop-1."""
        wanted = self.rows[start:stop]
        vectors = [self.strings.take(column) for column in wanted.T]
        return vectors[0] if len(vectors) == 1 else pair_features(vectors[0], vectors[1])

    def window(self, start: int, stop: int) -> Embeddings:
        """Rows start … stop-1: they point at the same strings."""
        return Embeddings(self.strings, self.rows[start:stop])

    def subset(self, index: NDArray[np.int64]) -> Embeddings:
        """Some rows: they point at the same strings."""
        return Embeddings(self.strings, self.rows[index])

    def save(self, path: Path) -> None:
        """Write to a safetensors file, a block at a time."""
        blocks = map_blocks(lambda _, block: block, self.strings, DEFAULT_BLOCK_ROWS)
        strings = TensorStream(self.strings.shape, np.dtype("<f4"), blocks)
        write_tensors(path, {"strings": strings, "rows": TensorStream.of(self.rows)})

    @classmethod
    def load(cls, path: Path) -> Embeddings:
        """Map a file that `save` wrote."""
        tensors = map_tensors(path)
        return cls(MappedVectors(tensors["strings"]), np.asarray(tensors["rows"]))


def pair_features(u: Float32, v: Float32) -> Float32:
    """[u ; v ; |u−v| ; u·v], each quarter of equal norm and the whole of norm 1.

    A quarter that is zero (|u−v| of equal texts) stays zero and the others share the norm.

    >>> u = np.array([[1.0, 0.0]], dtype=np.float32)
    >>> v = np.array([[0.6, 0.8]], dtype=np.float32)
    >>> features = pair_features(u, v)
    >>> features.shape, round(float(np.linalg.norm(features)), 6)
    ((1, 8), 1.0)
    """
    quarters = np.stack([u, v, np.abs(u - v), u * v], axis=1)
    norms = np.linalg.norm(quarters, axis=2, keepdims=True)
    present = norms > _NO_DIFFERENCE
    scale = np.where(present, 1 / np.where(present, norms, 1), 0)
    scale /= np.sqrt(np.maximum(1, present.sum(axis=1, keepdims=True)))
    return (quarters * scale).reshape(len(u), -1).astype(np.float32)


def sparse_pairs(u: Any, v: Any) -> Any:
    """`pair_features` of sparse rows: quarters of equal norm and the whole of norm 1.

    >>> from scipy.sparse import csr_matrix
    >>> u, v = csr_matrix([[1.0, 0.0]]), csr_matrix([[0.0, 1.0]])
    >>> sparse_pairs(u, v).toarray().round(2).tolist()
    [[0.58, 0.0, 0.0, 0.58, 0.41, 0.41, 0.0, 0.0]]
    """
    from scipy.sparse import hstack
    from sklearn.preprocessing import normalize

    quarters = [u, v, abs(u - v), u.multiply(v).tocsr()]
    return normalize(hstack([normalize(quarter) for quarter in quarters], format="csr"))


def unique_strings(columns: Sequence[Sequence[str]]) -> tuple[list[str], NDArray[np.int64]]:
    """The distinct strings in order of first appearance, and each row's indices into them.

    >>> unique_strings([["a", "b"], ["b", "b"]])
    (['a', 'b'], array([[0, 1],
           [1, 1]]))
    """
    index: dict[str, int] = {}
    places = (
        index.setdefault(text, len(index)) for row in zip(*columns, strict=True) for text in row
    )
    rows = np.fromiter(places, dtype=np.int64).reshape(-1, len(columns))
    return list(index), rows
