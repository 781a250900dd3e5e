from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest

from take.encoder.cache import VectorCache, string_keys


def vectors_of(strings: list[str]) -> np.ndarray:
    return np.array([[len(s), ord(s[0])] for s in strings], dtype=np.float32)


def add(cache: VectorCache, strings: list[str], truncated: int = 0) -> None:
    flags = np.array([1] * truncated + [0] * (len(strings) - truncated), dtype=np.uint8)
    cache.add(string_keys(strings), vectors_of(strings), flags)


def test_what_was_added_is_found_by_a_later_process(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path, 2)
    add(cache, ["aa", "b"], truncated=1)
    add(cache, ["ccc"])
    again = VectorCache(tmp_path, 2)
    wanted = ["ccc", "aa", "b", "aa"]
    for opened in (cache, again):
        assert opened.missing(string_keys([*wanted, "new"])).tolist() == [4]
        picked = opened.select(string_keys(wanted))
        assert picked.shape == (4, 2)
        np.testing.assert_array_equal(picked.read(0, 4), vectors_of(wanted))
        np.testing.assert_array_equal(picked.take(np.array([3, 0])), vectors_of(["aa", "ccc"]))
        assert picked.n_truncated == 2


def test_a_damaged_segment_is_named_put_aside_and_missing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cache = VectorCache(tmp_path, 2)
    add(cache, ["aa"])
    add(cache, ["b"])
    segment = sorted(tmp_path.glob("segment-*.safetensors"))[0]
    content = bytearray(segment.read_bytes())
    content[-1] ^= 1
    segment.write_bytes(content)
    with caplog.at_level(logging.WARNING):
        again = VectorCache(tmp_path, 2)
    assert str(segment) in caplog.text
    assert len(again.missing(string_keys(["aa", "b"]))) == 1
    assert bytes(content) in [path.read_bytes() for path in tmp_path.glob("*.altered-*")]


def test_a_segment_without_its_record_does_not_count(tmp_path: Path) -> None:
    """The state after a kill between the two writes."""
    add(VectorCache(tmp_path, 2), ["aa"])
    next(tmp_path.glob("*.record.json")).unlink()
    assert len(VectorCache(tmp_path, 2).missing(string_keys(["aa"]))) == 1


def test_an_empty_selection_is_empty(tmp_path: Path) -> None:
    assert VectorCache(tmp_path, 2).select(string_keys([])).read(0, 0).shape == (0, 2)


def test_segments_that_overlap_give_every_string_its_own_vector(tmp_path: Path) -> None:
    """Two runs at once may each encode a string."""
    add(VectorCache(tmp_path, 2), ["aa", "shared", "b"])
    first = VectorCache(tmp_path, 2)
    keys = string_keys(["shared", "c", "dddd"])
    first.add(keys, vectors_of(["shared", "c", "dddd"]), np.zeros(3, np.uint8))
    first.add(string_keys(["ee"]), vectors_of(["ee"]), np.ones(1, np.uint8))
    wanted = ["ee", "dddd", "b", "shared", "aa", "c"]
    for cache in (first, VectorCache(tmp_path, 2)):
        picked = cache.select(string_keys(wanted))
        np.testing.assert_array_equal(picked.read(0, len(wanted)), vectors_of(wanted))
        assert picked.n_truncated == 1


def test_a_segment_that_another_run_is_writing_is_left_alone(tmp_path: Path) -> None:
    add(VectorCache(tmp_path, 2), ["aa"])
    record = next(tmp_path.glob("*.record.json"))
    written = record.read_bytes()
    record.unlink()
    VectorCache(tmp_path, 2)
    record.write_bytes(written)
    assert len(VectorCache(tmp_path, 2).missing(string_keys(["aa"]))) == 0
