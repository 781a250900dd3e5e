"""TextCNN and TextRNN on tiny random word vectors."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch

from take.errors import InputError
from take.learners import NetworkSettings, Shared, Texts, TrainingRows, make_learner
from take.learners.training import UpdateSettings, row_batches
from take.learners.word_vectors import UNKNOWN, WordVectorSettings, load_word_vectors
from tests.learners import toy

KINDS = ["textcnn", "textrnn"]
TRAINING = UpdateSettings(learning_rate=1e-2, updates=40)


def learner(kind: str, folder: Path, **changes: object):
    words = WordVectorSettings(source=str(toy.glove(folder)))
    settings = NetworkSettings(
        kind=kind, words=words, filters=10, hidden=8, training=TRAINING, **changes
    )
    return make_learner(settings, Shared())


@pytest.mark.parametrize("kind", KINDS)
def test_a_toy_task_is_learnt(kind: str, tmp_path: Path) -> None:
    model = learner(kind, tmp_path).fit(toy.single(64), seed=0)
    assert toy.accuracy(model, toy.single(200, seed=9)) > 0.9


@pytest.mark.parametrize("kind", KINDS)
def test_pairs_are_learnt(kind: str, tmp_path: Path) -> None:
    model = learner(kind, tmp_path).fit(toy.pairs(200), seed=0, updates=150)
    assert toy.accuracy(model, toy.pairs(200, seed=9)) > 0.8


@pytest.mark.parametrize("pool", ["last", "mean", "max"])
def test_padding_does_not_matter(pool: str, tmp_path: Path) -> None:
    texts = ["good", "the film is very long and dull", "unheard words only", "!"]
    for kind in KINDS:
        model = learner(kind, tmp_path, pool=pool).fit(toy.single(), seed=0, updates=3)
        together = model.logits(Texts.of(texts))
        alone = np.concatenate([model.logits(Texts.of([text])) for text in texts])
        np.testing.assert_allclose(together, alone, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_decides_everything(kind: str, tmp_path: Path) -> None:
    queries = toy.single(20, seed=1).texts
    network = learner(kind, tmp_path)
    torch.manual_seed(1)
    first = network.fit(toy.single(), seed=5).logits(queries)
    torch.manual_seed(2)
    before = torch.get_rng_state()
    again = network.fit(toy.single(), seed=5).logits(queries)
    assert (first == again).all()
    assert torch.equal(torch.get_rng_state(), before), "other random numbers were disturbed"
    assert not np.allclose(first, network.fit(toy.single(), seed=6).logits(queries))


@pytest.mark.parametrize("kind", KINDS)
def test_weights_count(kind: str, tmp_path: Path) -> None:
    rows, queries = toy.single(), Texts.of(["film"])
    heavy = TrainingRows(rows.texts, rows.labels, 2, np.where(rows.labels == 1, 50.0, 1.0))
    network = learner(kind, tmp_path)
    even, tilted = (network.fit(r, seed=0, updates=10).logits(queries)[0] for r in (rows, heavy))
    assert tilted[1] - tilted[0] > even[1] - even[0]


def test_updates_do_not_depend_on_rows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    steps = []
    plain = torch.optim.AdamW.step
    monkeypatch.setattr(
        torch.optim.AdamW, "step", lambda self, *a, **k: steps.append(1) or plain(self, *a, **k)
    )
    for n_rows in (2, 24, 200):
        steps.clear()
        learner("textcnn", tmp_path).fit(toy.single(n_rows), seed=0, updates=7)
        assert len(steps) == 7
    with pytest.raises(InputError, match="Updates is 0"):
        learner("textcnn", tmp_path).fit(toy.single(), seed=0, updates=0)


def test_batches_take_every_row_once_before_any_twice() -> None:
    batches = list(row_batches(10, 3, updates=7, seed=0))
    assert [len(batch) for batch in batches] == [3] * 7
    for start in (0, 3):
        assert len(set(np.concatenate(batches[start : start + 3]).tolist())) == 9


def test_classes_without_rows_keep_a_logit(tmp_path: Path) -> None:
    rows = toy.single()
    model = learner("textcnn", tmp_path).fit(TrainingRows(rows.texts, rows.labels, 4), seed=0)
    assert model.logits(rows.texts).shape == (len(rows), 4)
    assert model.logits(Texts.of([])).shape == (0, 4)


def test_words_are_looked_up_once(tmp_path: Path) -> None:
    shared = Shared()
    settings = NetworkSettings(words=WordVectorSettings(source=str(toy.glove(tmp_path))))
    one, other = make_learner(settings, shared), make_learner(settings, shared)
    assert one.words is other.words
    texts = toy.single().texts
    assert one.words.ids(texts) is other.words.ids(texts)


def test_vectors_are_equal_from_text_json_and_cache(tmp_path: Path) -> None:
    file = toy.glove(tmp_path)
    plain = load_word_vectors(WordVectorSettings(source=str(file)))
    cache = tmp_path / "cache"
    for _ in range(2):  # written, then read
        kept = load_word_vectors(WordVectorSettings(source=str(file)), cache)
        assert (kept.matrix == plain.matrix).all()
    assert len(list(cache.iterdir())) == 1
    lines = [line.split(" ") for line in file.read_text().splitlines()]
    vectors = {word: [*map(float, numbers), 1.0, row] for row, (word, *numbers) in enumerate(lines)}
    wink = tmp_path / "wink.json"
    wink.write_text(json.dumps({"dimensions": 16, "vectors": vectors}))
    from_json = load_word_vectors(WordVectorSettings(source=str(wink)))
    np.testing.assert_allclose(from_json.matrix, plain.matrix, atol=1e-6)
    assert np.sqrt(np.mean(plain.matrix[2:] ** 2)) == pytest.approx(0.4, rel=1e-5)
    assert not plain.matrix[:2].any()


def test_unknown_words_are_counted_and_texts_cut(tmp_path: Path) -> None:
    source = str(toy.glove(tmp_path))
    words = load_word_vectors(WordVectorSettings(source=source, max_words=3))
    texts = Texts.of(["good zebra film bad", "zebra"])
    assert [len(ids) for ids in words.ids(texts)[0]] == [3, 1]
    assert np.mean(np.concatenate(words.ids(texts)[0]) == UNKNOWN) == 0.5


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", "film 0.1 0.2\nplot 0.1\n", "a.txt, line 2"),
        ("b.txt", "film 0.1 0.2\nplot 0.1 nan\n", "b.txt, line 2"),
        ("c.txt", "400000 100\nfilm 0.1 0.2\n", "c.txt, line 1"),
        ("d.txt", "", "empty"),
        ("e.json", "{}", "not wink-embeddings' format"),
    ],
)
def test_bad_vector_files_are_refused(
    name: str, content: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError) as refused:
        load_word_vectors(WordVectorSettings(source=str(tmp_path / name)))
    assert message in str(refused.value)
    with pytest.raises(InputError, match="are not there"):
        load_word_vectors(WordVectorSettings(source=str(tmp_path / "missing.txt")))


def test_token_vectors_come_from_their_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Made-up weights in the package's layout; the real ones are read in the test below."""
    from safetensors.numpy import save_file
    from tokenizers import Tokenizer, models, pre_tokenizers

    package = tmp_path / "wordllama"
    for name in ("weights", "tokenizers"):
        (package / name).mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('nothing of it is run')")
    vectors = np.arange(6, dtype=np.float16).reshape(3, 2)
    save_file({"embedding.weight": vectors}, package / "weights/l2_supercat_256.safetensors")
    tokenizer = Tokenizer(models.WordLevel({"film": 0, "good": 1, "<unk>": 2}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(package / "tokenizers/l2_supercat_tokenizer_config.json"))
    monkeypatch.syspath_prepend(tmp_path)
    words = load_word_vectors(WordVectorSettings())
    assert words.ids(Texts.of(["good film"]))[0][0].tolist() == [3, 2]
    assert words.matrix[3, 1] / words.matrix[3, 0] == pytest.approx(1.5)
    assert "wordllama" in words.title


@pytest.mark.skipif(find_spec("wordllama") is None, reason="wordllama is not installed")
def test_real_token_vectors_know_what_words_mean() -> None:
    words = load_word_vectors(WordVectorSettings())
    assert words.matrix.shape == (32002, 256)
    names = ["good", "great", "bank"]
    good, great, bank = (words.matrix[ids].mean(axis=0) for ids in words.ids(Texts.of(names))[0])

    def cosine(a: np.ndarray, b: np.ndarray) -> float:
        return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))

    assert cosine(good, great) > cosine(good, bank) + 0.2


def test_missing_token_vectors_say_how_to_install_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match="pip install wordllama"):
        load_word_vectors(WordVectorSettings())
