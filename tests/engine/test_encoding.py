"""Vectors of the real encoder, made here and on the workers of a real Ray cluster."""

from __future__ import annotations

import os
import shutil
import signal
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

from take.encoder.cache import VectorCache
from take.encoder.encode import EmbeddingSettings, Encoder, embed_corpus
from take.encoder.models import EncoderModel, EncoderSettings
from take.engine import engine_of_run
from take.engine.cluster import RayEngine
from take.errors import InputError

pytestmark = pytest.mark.encoder

# Of many lengths, some below the length from which int8 is used.
STRINGS = [f"film {i}: " + "slow , very slow " * (i % 23) for i in range(90)] + ["dull", "a", ""]
SETTINGS = EmbeddingSettings(segment_strings=8)


@pytest.fixture(scope="module")
def cache_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all tests, so that each worker loads the encoder once."""
    return tmp_path_factory.mktemp("cache")


def segments(
    root: Path, engine: RayEngine | None, encoder: Encoder | None = None
) -> dict[str, bytes]:
    """The cache's files after encoding into an empty cache."""
    encoder = encoder or Encoder(EncoderSettings(), root)
    shutil.rmtree(encoder.cache_folder, ignore_errors=True)
    with engine_of_run(engine) if engine else nullcontext():
        embedded = embed_corpus([STRINGS], encoder, SETTINGS)
    assert embedded.report.encoded_strings == len(STRINGS)
    found = embedded.embeddings.read(0, len(STRINGS))
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
    files = sorted(encoder.cache_folder.glob("segment-*.safetensors"))
    return {path.name: path.read_bytes() for path in files}


@pytest.fixture(scope="module")
def local(cache_root: Path) -> dict[str, bytes]:
    return segments(cache_root, None)


@pytest.mark.parametrize("count", [1, 2, 4])
def test_workers_write_the_bytes_of_this_process(
    cluster: RayEngine, cache_root: Path, local: dict[str, bytes], count: int
) -> None:
    encoder = Encoder(EncoderSettings(), cache_root)
    assert segments(cache_root, RayEngine(cluster.workers[:count]), encoder) == local
    assert len(local) == 12
    assert "backend" not in vars(encoder)  # nothing was encoded here


def test_vectors_of_another_engine_are_found_again(
    cluster: RayEngine, cache_root: Path, local: dict[str, bytes]
) -> None:
    segments(cache_root, RayEngine(cluster.workers[:2]))
    again = embed_corpus([STRINGS], Encoder(EncoderSettings(), cache_root), SETTINGS)
    assert again.report.encoded_strings == 0


def test_pytorch_uses_as_many_threads_as_this_process(cluster: RayEngine, tmp_path: Path) -> None:
    """Its sums depend on them."""

    def made(engine: RayEngine | None) -> dict[str, bytes]:
        return segments(tmp_path, engine, Encoder(EncoderSettings(backend="torch"), tmp_path))

    assert made(RayEngine(cluster.workers[:1])) == made(None)


def test_a_killed_worker_s_segments_are_encoded_by_its_replacement(
    cluster: RayEngine,
    cache_root: Path,
    local: dict[str, bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import ray

    engine = RayEngine(cluster.workers[:2])
    process = ray.get(engine.workers[0].process.remote())
    include, seen = VectorCache.include, []

    def include_and_kill(cache: VectorCache, segment: str) -> None:
        include(cache, segment)
        seen.append(segment)
        if len(seen) == 3:
            os.kill(process, signal.SIGKILL)

    monkeypatch.setattr(VectorCache, "include", include_and_kill)
    assert segments(cache_root, engine) == local
    assert ray.get(engine.workers[0].process.remote()) != process


def test_a_worker_without_the_model_is_an_error_before_anything_is_encoded(
    cluster: RayEngine, tmp_path: Path
) -> None:
    folder = tmp_path / "encoder"
    shutil.copytree(EncoderModel(EncoderSettings()).folder, folder)
    encoder = Encoder(EncoderSettings(model=str(folder)), tmp_path / "cache")
    _ = encoder.identity  # what is read only once is read here
    (folder / "model.safetensors").unlink()
    with (
        engine_of_run(RayEngine(cluster.workers[:1])),
        pytest.raises(InputError, match=r"has no model.safetensors") as found,
    ):
        embed_corpus([STRINGS], encoder, SETTINGS)
    assert "On worker" in "".join(found.value.__notes__)
    assert not list((tmp_path / "cache").rglob("*"))


def test_a_worker_with_another_model_is_an_error(cluster: RayEngine, tmp_path: Path) -> None:
    folder = tmp_path / "encoder"
    shutil.copytree(EncoderModel(EncoderSettings()).folder, folder)
    encoder = Encoder(EncoderSettings(model=str(folder), backend="openvino"), tmp_path / "cache")
    _ = encoder.identity
    with (folder / "model.safetensors").open("r+b") as weights:
        weights.seek(-1, os.SEEK_END)
        weights.write(b"\1")
    with (
        engine_of_run(RayEngine(cluster.workers[:1])),
        pytest.raises(InputError, match=r"worker .*: encoder .* has other weights or libraries"),
    ):
        embed_corpus([STRINGS], encoder, SETTINGS)
    assert not list((tmp_path / "cache").rglob("*"))


def test_an_encoder_pickles_as_its_settings(cache_root: Path) -> None:
    """Whatever it has loaded: its pickle is the key under which workers keep it."""
    import pickle

    encoder = Encoder(EncoderSettings(), cache_root)
    before = pickle.dumps(encoder)
    encoder.backend, encoder.identity  # noqa: B018
    assert pickle.dumps(encoder) == before
    assert len(before) < 1000
