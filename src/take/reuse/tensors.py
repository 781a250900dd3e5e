"""safetensors files larger than memory: written a block at a time, read by mapping.

The format is the safetensors library's (its own reader is the oracle in the tests); the library
itself writes from arrays that are whole in memory and reads copies.
"""

from __future__ import annotations

import json
import mmap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from take.errors import AlteredArtifactError

_TYPES: dict[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
    "U8": np.dtype("u1"),
}
MOST_HELD_BYTES = 2**25
"""Read of a mapped file before its memory is given back."""
_NAMES = {dtype: name for name, dtype in _TYPES.items()}


@dataclass(frozen=True)
class TensorStream:
    """A tensor that comes as blocks of rows."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    blocks: Iterable[NDArray[Any]]

    @classmethod
    def of(cls, array: NDArray[Any]) -> TensorStream:
        """A whole array as one block."""
        return cls(array.shape, array.dtype, [array])


def write_tensors(path: Path, tensors: Mapping[str, TensorStream]) -> None:
    """Write tensors one after the other, holding one block in memory."""
    header: dict[str, Any] = {}
    offset = 0
    for name, tensor in tensors.items():
        size = int(np.prod(tensor.shape)) * tensor.dtype.itemsize
        header[name] = {
            "dtype": _NAMES[tensor.dtype.newbyteorder("<")],
            "shape": list(tensor.shape),
            "data_offsets": [offset, offset + size],
        }
        offset += size
    encoded = json.dumps(header, separators=(",", ":")).encode()
    encoded += b" " * (-len(encoded) % 8)  # the data begin at a multiple of eight bytes
    with path.open("wb") as stream:
        stream.write(len(encoded).to_bytes(8, "little") + encoded)
        for name, tensor in tensors.items():
            start = stream.tell()
            for block in tensor.blocks:
                stream.write(np.ascontiguousarray(block, dtype=tensor.dtype).data)
            begin, end = header[name]["data_offsets"]
            if stream.tell() - start != end - begin:
                raise ValueError(
                    f"the blocks of tensor {name!r} do not fill its shape {tensor.shape}"
                )


def map_tensors(path: Path) -> dict[str, NDArray[Any]]:
    """The file's tensors as read-only memory maps: nothing is read until it is used."""
    try:
        with path.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            header = json.loads(stream.read(length))
        header.pop("__metadata__", None)
        return {name: _map(path, 8 + length, entry) for name, entry in header.items()}
    except (ValueError, KeyError, OverflowError, MemoryError) as error:
        raise AlteredArtifactError(f"{path} is not a whole safetensors file ({error})") from error


class Place(NamedTuple):
    """Where a mapped array is."""

    path: Path
    offset: int
    shape: tuple[int, ...]
    dtype: str


def place_of(array: NDArray[Any]) -> Place | None:
    """The place of an array that is a mapped file; None of any other, parts of such arrays too."""
    whole: Any = array.base
    if not isinstance(array, np.memmap) or not isinstance(whole, mmap.mmap):
        return None
    return Place(Path(str(array.filename)), array.offset, array.shape, array.dtype.str)


def map_place(place: Place) -> NDArray[Any]:
    """The array at a place."""
    try:
        return np.memmap(place.path, place.dtype, "r", place.offset, place.shape)
    except OSError as error:
        raise AlteredArtifactError(
            f"{place.path} cannot be read here ({error.strerror}). Fix: put the project on a file "
            "system that all workers mount at the same path."
        ) from error


def release(array: NDArray[Any]) -> None:
    """Give back the memory in which a mapped file was read; its pages are read again when used.

    Otherwise they stay for as long as no other program needs the memory, and count as this one's.
    """
    mapped: mmap.mmap | None = getattr(array, "_mmap", None)
    if mapped is not None and hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)


def _map(path: Path, data_start: int, entry: Mapping[str, Any]) -> NDArray[Any]:
    dtype, shape = _TYPES[entry["dtype"]], tuple(entry["shape"])
    if 0 in shape:
        return np.empty(shape, dtype)
    offset = data_start + entry["data_offsets"][0]
    return np.memmap(path, dtype=dtype, mode="r", offset=offset, shape=shape)
