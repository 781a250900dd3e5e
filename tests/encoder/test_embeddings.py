from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from take.encoder.embeddings import Embeddings, MappedVectors, pair_features, unique_strings
from take.rows.blocks import ArrayBlocks, block_bounds, map_blocks


def unit(n: int, d: int, seed: int = 0) -> np.ndarray:
    vectors = np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@given(st.integers(1, 20), st.integers(2, 40), st.integers(0, 10**6))
def test_pair_features_have_unit_norm_and_equal_quarters(n: int, d: int, seed: int) -> None:
    u, v = unit(n, d, seed), unit(n, d, seed + 1)
    features = pair_features(u, v)
    np.testing.assert_allclose(np.linalg.norm(features, axis=1), 1, rtol=1e-5)
    quarters = np.linalg.norm(features.reshape(n, 4, d), axis=2)
    np.testing.assert_allclose(quarters, 0.5, rtol=1e-4)
    np.testing.assert_allclose(features[:, :d], u / 2, rtol=1e-4, atol=1e-6)


def test_equal_texts_have_no_difference_and_still_unit_norm() -> None:
    u = unit(3, 8)
    features = pair_features(u, u + np.float32(1e-7))
    np.testing.assert_array_equal(features[:, 16:24], 0)
    np.testing.assert_allclose(np.linalg.norm(features, axis=1), 1, rtol=1e-5)


def test_order_matters_to_a_pair() -> None:
    u, v = unit(1, 8, 1), unit(1, 8, 2)
    assert not np.allclose(pair_features(u, v), pair_features(v, u))


@given(st.lists(st.tuples(st.text(max_size=3), st.text(max_size=3)), min_size=1, max_size=30))
def test_each_string_is_listed_once(rows: list[tuple[str, str]]) -> None:
    columns = [[a for a, _ in rows], [b for _, b in rows]]
    strings, index = unique_strings(columns)
    assert len(set(strings)) == len(strings)
    assert [(strings[i], strings[j]) for i, j in index] == rows


def test_saved_embeddings_map_back_block_by_block(tmp_path: Path) -> None:
    vectors = unit(50, 16)
    rows = np.random.default_rng(1).integers(0, 50, size=(70, 2))
    made = Embeddings(MappedVectors(vectors), rows)
    made.save(tmp_path / "e.safetensors")
    loaded = Embeddings.load(tmp_path / "e.safetensors")
    assert loaded.shape == (70, 64)
    whole = pair_features(vectors[rows[:, 0]], vectors[rows[:, 1]])
    for block_rows in (1, 7, 1000):
        blocks = np.vstack(list(map_blocks(lambda _, block: block, loaded, block_rows)))
        np.testing.assert_array_equal(blocks, whole)


def test_array_blocks_read_what_is_in_the_array() -> None:
    array = unit(10, 4)
    np.testing.assert_array_equal(ArrayBlocks(array).read(3, 7), array[3:7])


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
def test_memory_does_not_grow_with_the_mapped_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mapped_megabytes() -> float:
        lines = Path("/proc/self/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("RssFile")).split()[1]) / 1024

    monkeypatch.setattr("take.encoder.embeddings.MOST_HELD_BYTES", 2**22)
    vectors = np.random.default_rng(0).standard_normal((65_536, 256), dtype=np.float32)
    file = tmp_path / "embeddings.safetensors"
    Embeddings(MappedVectors(vectors), np.arange(len(vectors))[:, None]).save(file)
    rows = Embeddings.load(file)
    most = before = mapped_megabytes()
    scattered = np.random.default_rng(1).permutation(len(vectors))[:4096]
    np.testing.assert_array_equal(rows.strings.take(scattered), vectors[scattered])
    for start, stop in block_bounds(len(vectors), 2048):
        block, view = rows.read(start, stop), rows.strings.read(start, stop)
        np.testing.assert_array_equal(block, vectors[start:stop])
        np.testing.assert_array_equal(view, vectors[start:stop])
        most = max(most, mapped_megabytes())
    assert most - before < 32  # of 64
