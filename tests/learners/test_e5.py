"""e5-small: what is converted, and that it can be fine-tuned."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import numpy as np
import pytest
import torch

from take.encoder import e5 as e5_module
from take.errors import InputError
from take.learners import DEFAULTS, Shared, Texts, TrainingRows, make_learner
from take.learners.training import UpdateSettings

SENTENCES = [
    "a wonderful film",
    "stocks fell sharply on tuesday after the bank raised its rates",
    "how much protein should a female eat?",
    "Ein Satz in einer anderen Sprache",
]


def test_a_folder_for_the_weights_must_be_given() -> None:
    with pytest.raises(InputError, match="set learners.language_models"):
        _ = make_learner(DEFAULTS["e5"], Shared()).pretrained.folder


def test_another_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = tmp_path / "models" / "e5-small-int8.tar.gz"
    archive.parent.mkdir()
    with tarfile.open(archive, "w:gz") as members:
        member = tarfile.TarInfo("e5-small-int8.onnx")
        member.size = 4
        members.addfile(member, io.BytesIO(b"evil"))
    monkeypatch.setattr(e5_module, "package_folder", lambda *_: tmp_path)
    with pytest.raises(InputError, match="has the SHA-256"):
        e5_module.e5_folder(tmp_path / "weights", tmp_path / "tokenizer.json")
    assert not list((tmp_path / "weights").glob("e5*"))


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Shared:
    return Shared(language_models=tmp_path_factory.mktemp("weights"))


@pytest.mark.encoder
def test_its_sentence_vectors_are_those_of_the_onnx_file(shared: Shared) -> None:
    """Not to the last digit: the file rounds states to 8 bits too, the converted model does not."""
    import openvino

    core = openvino.Core()
    compiled = core.compile_model(core.read_model(e5_module.read_onnx()), "CPU")
    pretrained = make_learner(DEFAULTS["e5"], shared).pretrained
    model = pretrained.fresh().eval()
    vectors = []
    for ids in pretrained.tokens(Texts.of(SENTENCES)).ids:
        given = {"input_ids": np.array([ids]), "attention_mask": np.ones((1, len(ids)), np.int64)}
        theirs = compiled(given)["last_hidden_state"].mean(axis=1)[0]
        with torch.inference_mode():
            ours = model(torch.tensor([ids])).last_hidden_state.mean(dim=1)[0].numpy()
        assert theirs @ ours / np.linalg.norm(theirs) / np.linalg.norm(ours) >= 0.99
        vectors.append(ours / np.linalg.norm(ours))
    # Sentences differ more from each other than a sentence from itself.
    assert (np.stack(vectors) @ np.stack(vectors).T)[~np.eye(4, dtype=bool)].max() < 0.95


@pytest.mark.encoder
def test_each_text_begins_as_its_authors_say(shared: Shared) -> None:
    pretrained = make_learner(DEFAULTS["e5"], shared).pretrained
    ids = pretrained.tokens(Texts.of(["film"])).ids[0]
    assert ids == [101, 23032, 1024, 2143, 102]  # [CLS] query : film [SEP]
    pair = pretrained.tokens(Texts.of(["film"], ["film"]))
    assert pair.ids[0] == [*ids, *ids[1:]]
    assert pair.segments[0] == [0] * 5 + [1] * 4


@pytest.mark.encoder
def test_it_is_fine_tuned_and_named(shared: Shared) -> None:
    """Real weights: words outside the training rows are classified, because it knew them before."""
    rows = TrainingRows(
        Texts.of(
            ["a wonderful film", "an awful film", "i loved every minute", "i hated every minute"]
        ),
        np.array([1, 0, 1, 0]),
        2,
    )
    training = UpdateSettings(learning_rate=3e-4, updates=15, warmup_share=0.2)
    learner = make_learner(DEFAULTS["e5"].model_copy(update={"training": training}), shared)
    queries = ["a superb story", "a terrible story", "delightful and warm", "a dreadful bore"]
    assert learner.fit(rows, seed=0).predict(Texts.of(queries)).tolist() == [1, 0, 1, 0]
    assert learner.name == "e5"
    assert learner.title.startswith("e5-small, dequantised int8, fully fine-tuned")
