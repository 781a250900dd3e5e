"""A content-addressed store of vectors, kept in append-only segments.

A string's key is a digest of its bytes, so strings of a grown corpus are found again. A segment is
written whole or not at all, so a killed run loses at most one. Segments carry records like every
artifact: a damaged one is logged, set aside and encoded again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from take.reuse.store import KeyedStore
from take.reuse.tensors import TensorStream, map_tensors, write_tensors
from take.rows.arrays import Float32

_KEY_BYTES = 16
Keys = NDArray[np.void]


def string_keys(strings: Iterable[str]) -> Keys:
    """128-bit keys of strings, by content."""
    digests = [hashlib.blake2b(text.encode(), digest_size=_KEY_BYTES).digest() for text in strings]
    return np.array(digests, dtype=f"V{_KEY_BYTES}")


def whole_segments(folder: Path) -> list[Path]:
    """The cache's segments, after damaged ones have been logged and set aside."""
    store = _store(folder)
    return [path for path in store.files("segment-*.safetensors") if store.is_whole(path)]


def _store(folder: Path) -> KeyedStore:
    return KeyedStore(folder, "its strings are encoded again")


class VectorCache:
    """All vectors of one encoder, by string."""

    def __init__(self, folder: Path, dimension: int) -> None:
        self.folder = folder
        self.dimension = dimension
        self._segments: list[Float32] = []
        self._truncated: list[NDArray[np.uint8]] = []
        self._starts: list[int] = []
        """The position of each segment's first vector."""
        self._position: dict[bytes, int] = {}
        self._n_vectors = 0
        for path in whole_segments(folder):
            self._index(path)

    def missing(self, keys: Keys) -> NDArray[np.int64]:
        """Indices of the keys that have no vector yet."""
        absent = [i for i, key in enumerate(keys) if key.tobytes() not in self._position]
        return np.array(absent, dtype=np.int64)

    def add(self, keys: Keys, vectors: Float32, truncated: NDArray[np.uint8]) -> None:
        """Keep the vectors of new strings as one segment."""
        name = hashlib.sha256(keys.tobytes()).hexdigest()[:24]
        file = f"segment-{name}.safetensors"
        with _store(self.folder).writing(file) as temporary:
            write_tensors(
                temporary,
                {
                    "keys": TensorStream.of(keys.view(np.uint8).reshape(-1, _KEY_BYTES)),
                    "vectors": TensorStream.of(vectors),
                    "truncated": TensorStream.of(truncated),
                },
            )
        self._index(self.folder / file)

    def select(self, keys: Keys) -> CachedVectors:
        """The vectors of strings that are all in the cache, in the order of their keys."""
        positions = np.array([self._position[key.tobytes()] for key in keys], dtype=np.int64)
        truncated = np.concatenate([np.empty(0, np.uint8), *self._truncated])[positions]
        return CachedVectors(
            self._segments, np.array(self._starts), positions, int(truncated.sum()), self.dimension
        )

    def _index(self, path: Path) -> None:
        tensors = map_tensors(path)
        # Not the number of keys: two runs at once may each have encoded the same string.
        start = self._n_vectors
        self._n_vectors += len(tensors["vectors"])
        self._starts.append(start)
        self._segments.append(tensors["vectors"])
        self._truncated.append(np.asarray(tensors["truncated"]))
        for row, key in enumerate(np.asarray(tensors["keys"])):
            self._position[key.tobytes()] = start + row


class CachedVectors:
    """Vectors picked from the cache's segments; a `VectorStore`."""

    def __init__(
        self,
        segments: Sequence[Float32],
        starts: NDArray[np.int64],
        positions: NDArray[np.int64],
        n_truncated: int,
        dimension: int,
    ) -> None:
        self.n_truncated = n_truncated
        """How many of the strings are longer than the encoder reads."""
        self._segments = segments
        self._starts = starts
        self._positions = positions
        self._dimension = dimension

    @property
    def shape(self) -> tuple[int, int]:
        """(strings, d)."""
        return len(self._positions), self._dimension

    def read(self, start: int, stop: int) -> Float32:
        """The vectors of strings start … stop-1."""
        return self.take(np.arange(start, stop))

    def take(self, indices: NDArray[np.int64]) -> Float32:
        """The vectors of these strings, in this order."""
        positions = self._positions[indices]
        segment_of = np.searchsorted(self._starts, positions, side="right") - 1
        vectors = np.empty((len(indices), self._dimension), dtype=np.float32)
        for segment in np.unique(segment_of):
            here = np.flatnonzero(segment_of == segment)
            vectors[here] = self._segments[segment][positions[here] - self._starts[segment]]
        return vectors
