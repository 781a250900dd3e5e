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
from take.reuse.tensors import MOST_HELD_BYTES, TensorStream, map_tensors, release, write_tensors
from take.rows.arrays import Float32

_KEY_BYTES = 16
_KEY = np.dtype(f"S{_KEY_BYTES}")  # can be sorted, which raw bytes cannot
Keys = NDArray[np.bytes_]


def string_keys(strings: Iterable[str]) -> Keys:
    """128-bit keys of strings, by content."""
    digests = bytearray()  # not a list: of a million strings, their texts are enough to hold
    for text in strings:
        digests += hashlib.blake2b(text.encode(), digest_size=_KEY_BYTES).digest()
    return np.frombuffer(digests, dtype=_KEY)


def whole_segments(folder: Path) -> list[Path]:
    """The cache's segments, after damaged ones have been logged and set aside."""
    store = _store(folder)
    return [path for path in store.files("segment-*.safetensors") if store.is_whole(path)]


def _store(folder: Path) -> KeyedStore:
    return KeyedStore(folder, "its strings are encoded again")


def write_segment(folder: Path, keys: Keys, vectors: Float32, truncated: NDArray[np.uint8]) -> str:
    """Write the vectors of new strings to a cache's folder as one segment; the file's name."""
    name = f"segment-{hashlib.sha256(keys.tobytes()).hexdigest()[:24]}.safetensors"
    with _store(folder).writing(name) as temporary:
        write_tensors(
            temporary,
            {
                "keys": TensorStream.of(keys.view(np.uint8).reshape(-1, _KEY_BYTES)),
                "vectors": TensorStream.of(vectors),
                "truncated": TensorStream.of(truncated),
            },
        )
    return name


class VectorCache:
    """All vectors of one encoder, by string."""

    def __init__(self, folder: Path, dimension: int) -> None:
        self.folder = folder
        self.dimension = dimension
        self._segments: list[Float32] = []
        self._truncated: list[NDArray[np.uint8]] = []
        self._starts: list[int] = []
        """The position of each segment's first vector."""
        self._keys: list[Keys] = []
        self._sorted: tuple[Keys, NDArray[np.int64]] | None = None
        self._n_vectors = 0
        for path in whole_segments(folder):
            self._index(path)

    def missing(self, keys: Keys) -> NDArray[np.int64]:
        """Indices of the keys that have no vector yet."""
        return np.flatnonzero(self._positions(keys) < 0)

    def add(self, keys: Keys, vectors: Float32, truncated: NDArray[np.uint8]) -> None:
        """Keep the vectors of new strings as one segment."""
        self.include(write_segment(self.folder, keys, vectors, truncated))

    def include(self, segment: str) -> None:
        """Find the vectors of a segment that `write_segment` wrote, in whichever process."""
        self._index(self.folder / segment)

    def select(self, keys: Keys) -> CachedVectors:
        """The vectors of strings that are all in the cache, in the order of their keys."""
        positions = self._positions(keys)
        if len(positions) and positions.min() < 0:
            raise KeyError(f"{int((positions < 0).sum())} strings have no vector")
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
        self._keys.append(np.ascontiguousarray(tensors["keys"]).view(_KEY)[:, 0])
        self._sorted = None

    def _positions(self, keys: Keys) -> NDArray[np.int64]:
        """The newest vector of each key; −1 where there is none."""
        if self._sorted is None:
            known = np.concatenate([np.empty(0, _KEY), *self._keys])
            order = np.argsort(known, kind="stable")
            self._sorted = known[order], order
        known, order = self._sorted
        place = np.searchsorted(known, keys, side="right") - 1
        if not len(known):
            return np.full(len(keys), -1, dtype=np.int64)
        found: NDArray[np.int64] = np.where(known[place] == keys, order[place], -1)
        return found


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
        self._held_bytes = 0

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
        self._held_bytes += vectors.nbytes
        if self._held_bytes > MOST_HELD_BYTES:
            for mapped in self._segments:
                release(mapped)
            self._held_bytes = 0
        return vectors
