from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from take.errors import AlteredArtifactError
from take.reuse.tensors import TensorStream, map_tensors, write_tensors


def test_the_library_reads_what_we_write(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    values = np.arange(30, dtype=np.float32).reshape(10, 3)
    ids = np.arange(7, dtype=np.int64)
    blocks = (values[start : start + 4] for start in range(0, 10, 4))
    write_tensors(
        path, {"v": TensorStream((10, 3), np.dtype("<f4"), blocks), "ids": TensorStream.of(ids)}
    )
    loaded = load_file(path)
    np.testing.assert_array_equal(loaded["v"], values)
    np.testing.assert_array_equal(loaded["ids"], ids)


def test_we_map_what_the_library_writes(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    values = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)
    save_file({"v": values}, path, metadata={"made": "by the library"})
    mapped = map_tensors(path)["v"]
    assert isinstance(mapped, np.memmap)
    np.testing.assert_array_equal(mapped, values)


def test_blocks_must_fill_the_shape(tmp_path: Path) -> None:
    stream = TensorStream((3, 2), np.dtype("<f4"), [np.zeros((2, 2), np.float32)])
    with pytest.raises(ValueError, match="do not fill"):
        write_tensors(tmp_path / "x", {"v": stream})


@pytest.mark.parametrize("length", [0, 5, 40])
def test_a_truncated_file_is_named(tmp_path: Path, length: int) -> None:
    path = tmp_path / "x.safetensors"
    save_file({"v": np.zeros((5, 4), np.float32)}, path)
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(AlteredArtifactError, match="x.safetensors"):
        map_tensors(path)
