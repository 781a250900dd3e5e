"""e5-small as φ: vectors, prefix, backends, and a cache of its own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from take.datasets.models import EncoderDataset
from take.encoder.encode import EmbeddingSettings, Encoder, embed_corpus
from take.encoder.models import EncoderModel, EncoderSettings
from take.errors import InputError
from take.learners import DEFAULTS, Shared, Texts, make_learner

SENTENCES = [
    "a wonderful film",
    "an awful film",
    "stocks fell sharply on tuesday after the bank raised its rates",
    "long " * 400,
]


def embedded(root: Path, **settings: object) -> tuple[np.ndarray, object]:
    encoder = Encoder(EncoderSettings.model_validate(settings), root)
    found = embed_corpus([SENTENCES], encoder, EmbeddingSettings())
    return found.embeddings.read(0, len(SENTENCES)), found.report


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the cache, into which the weights are converted once."""
    return tmp_path_factory.mktemp("cache")


def test_without_a_folder_its_weights_cannot_be_converted() -> None:
    with pytest.raises(InputError, match="no folder for converted weights"):
        _ = EncoderModel(EncoderSettings(model="embedded_e5")).folder


def test_the_catalog_refuses_a_backend_without_calibration(tmp_path: Path) -> None:
    settings = {"model": "embedded_e5", "backend": "openvino_int8"}
    with pytest.raises(InputError, match=r"globals.yml, encoder: .*to auto, openvino or torch\.$"):
        EncoderDataset(filepath=str(tmp_path), encoder=settings)


@pytest.mark.encoder
def test_vectors_are_means_over_the_prefixed_text_of_norm_one(root: Path) -> None:
    """Computed another way: the learner's tokens and weights, and plain PyTorch."""
    vectors, report = embedded(root, model="embedded_e5", backend="torch")
    pretrained = make_learner(DEFAULTS["e5"], Shared(language_models=root)).pretrained
    module = pretrained.fresh().eval()
    for ids, vector in zip(pretrained.tokens(Texts.of(SENTENCES)).ids, vectors, strict=True):
        assert ids[:3] == [101, 23032, 1024]  # [CLS] query :
        with torch.inference_mode():
            mean = module(torch.tensor([ids])).last_hidden_state[0].mean(dim=0).numpy()
        np.testing.assert_allclose(vector, mean / np.linalg.norm(mean), atol=1e-5)
    assert (report.encoder, report.truncated_strings, report.features) == ("embedded_e5", 1, 384)


@pytest.mark.encoder
def test_openvino_is_its_default_and_gives_the_same_vectors(root: Path) -> None:
    reference, _ = embedded(root, model="embedded_e5", backend="torch")
    vectors, report = embedded(root, model="embedded_e5")
    assert report.backend == "openvino"
    np.testing.assert_allclose(vectors, reference, atol=1e-5)


@pytest.mark.encoder
def test_the_two_encoders_share_no_vectors(root: Path) -> None:
    settings = [EncoderSettings(model=m, backend="torch") for m in ("embedded_e5", "embedded")]
    e5, minilm = (Encoder(given, root) for given in settings)
    assert e5.cache_folder != minilm.cache_folder
    embedded(root, model="embedded_e5", backend="torch")
    _, report = embedded(root, backend="torch")
    assert report.reused_strings == 0
    _, report = embedded(root, model="embedded_e5", backend="torch")
    assert report.reused_strings == len(SENTENCES)


@pytest.mark.encoder
def test_its_prefix_is_part_of_its_identity(root: Path) -> None:
    """The same files as a plain folder are read without a prefix: other vectors, another cache."""
    e5 = Encoder(EncoderSettings(model="embedded_e5", backend="torch"), root)
    plain = Encoder(EncoderSettings(model=str(e5.model.folder), backend="torch"), root)
    assert plain.tokenise(["film"])[0] == [[101, 2143, 102]]
    assert e5.tokenise(["film"])[0] == [[101, 23032, 1024, 2143, 102]]
    assert plain.identity != e5.identity
