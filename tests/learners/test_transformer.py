"""Fine-tuning of a tiny random BERT and a tiny random Llama, and of the real MiniLM on a toy."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch

from take.errors import InputError
from take.learners import DEFAULTS, Shared, Texts, TrainingRows, TransformerSettings, make_learner
from take.learners import transformer as transformer_module
from take.learners.pretrained import Pretrained
from take.learners.training import UpdateSettings
from take.learners.transformer import build_classifier, cheap_groups
from tests.generation import tiny
from tests.learners import toy

TRAINING = UpdateSettings(learning_rate=3e-3, updates=60, warmup_share=0.2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy.bert(tmp_path_factory.mktemp("bert"))


def settings(folder: Path, **changes: object) -> TransformerSettings:
    values = {"model": str(folder), "max_tokens": 64, "training": TRAINING, **changes}
    return TransformerSettings.model_validate(values)


def test_the_protocol_is_dilms() -> None:
    training = DEFAULTS["transformer"].training
    assert training == UpdateSettings(
        learning_rate=1e-4,
        updates=200,
        warmup_share=0.5,
        weight_decay=0.01,
        batch_rows=64,
        clip_norm=1.0,
    )


def test_a_toy_task_is_learnt(folder: Path) -> None:
    learner = make_learner(settings(folder), Shared())
    model = learner.fit(toy.single(200), seed=0)
    assert toy.accuracy(model, toy.single(100, seed=9)) > 0.9


def test_each_cell_starts_from_the_pretrained_weights(folder: Path) -> None:
    learner = make_learner(settings(folder), Shared())
    queries = toy.single(20, seed=1).texts
    first = learner.fit(toy.single(), seed=3, updates=5).logits(queries)
    learner.fit(toy.single(seed=4), seed=0, updates=5)
    assert (learner.fit(toy.single(), seed=3, updates=5).logits(queries) == first).all()
    other = learner.fit(toy.single(), seed=4, updates=5).logits(queries)
    assert not np.allclose(other, first)


def test_all_weights_move(folder: Path) -> None:
    shared = Shared()
    learner = make_learner(settings(folder), shared)
    before = shared.pretrained_of(learner.settings).fresh().state_dict()
    after = learner.fit(toy.single(), seed=0, updates=5).module.transformer.state_dict()
    still = {name for name in before if torch.equal(before[name], after[name])}
    # BERT's pooler is not used, position and segment tables only in part.
    assert {name.split(".")[0] for name in still} <= {"pooler"}


def test_a_narrowed_vocabulary_changes_nothing(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against updates that carry the whole vocabulary, with a decay that would show."""
    tiny.saved("gemma", tmp_path)  # scales what its vocabulary says
    training = TRAINING.model_copy(update={"weight_decay": 0.5, "updates": 8})
    for place in (folder, tmp_path / "gemma"):
        learner = make_learner(settings(place, training=training), Shared())
        rows = TrainingRows(Texts.of(["the film is good", "bad plot"]), np.array([1, 0]), 2)
        queries = toy.single(20, seed=1).texts  # with words that are not in the training rows
        narrow = learner.fit(rows, seed=0)
        with monkeypatch.context() as patched:
            patched.setattr(transformer_module, "Narrowed", _NotNarrowed)
            whole = learner.fit(rows, seed=0)
        states = [model.module.state_dict() for model in (narrow, whole)]
        assert states[0].keys() == states[1].keys()
        for name in states[0]:
            torch.testing.assert_close(states[0][name], states[1][name], atol=1e-5, rtol=1e-4)
        np.testing.assert_allclose(narrow.logits(queries), whole.logits(queries), atol=1e-3)


class _NotNarrowed:
    def __init__(self, *_: object) -> None: ...

    def widen(self, kept_share: float) -> None:
        assert kept_share < 0.999


def test_groups_give_the_gradient_of_the_whole_batch(folder: Path) -> None:
    """Without dropout, groups of rows of like length train as one padded batch does."""
    chosen = settings(folder, head_dropout=0.0)
    pretrained = Pretrained(chosen, folder)
    rows = toy.single(12)
    tokens = pretrained.tokens(rows.texts)
    labels = torch.from_numpy(rows.labels)
    gradients = []
    for groups in ([np.arange(12)], cheap_groups([len(ids) for ids in tokens.ids], 1)):
        torch.manual_seed(0)
        module = build_classifier(chosen, pretrained, 2).eval()
        for group in groups:
            loss = torch.nn.functional.cross_entropy(
                module(tokens, group), labels[group], reduction="sum"
            )
            (loss / 12).backward()
        gradients.append(module.transformer.embeddings.word_embeddings.weight.grad)
    assert len(groups) > 2
    torch.testing.assert_close(gradients[0], gradients[1], atol=1e-6, rtol=1e-4)


def test_groups_are_the_cheapest() -> None:
    """Against all ways to cut eight rows."""
    random = np.random.default_rng(0)
    for _ in range(20):
        lengths = random.integers(1, 60, size=8).tolist()
        ordered = sorted(lengths)
        costs = []
        for cuts in range(2**7):
            bounds = [0, *(i + 1 for i in range(7) if cuts >> i & 1), 8]
            parts = [ordered[a:b] for a, b in pairwise(bounds)]
            costs.append(sum(len(part) * part[-1] + 25 for part in parts))
        groups = cheap_groups(lengths, 25)
        cost = sum(len(group) * max(lengths[row] for row in group) + 25 for group in groups)
        assert cost == min(costs)
        assert sorted(np.concatenate(groups).tolist()) == list(range(8))


def test_pairs_are_two_segments(folder: Path) -> None:
    tokens = Pretrained(settings(folder), folder).tokens(Texts.of(["the film"], ["good"]))
    assert tokens.ids[0][0] == 2
    assert tokens.ids[0].count(3) == 2
    assert tokens.segments[0] == [0, 0, 0, 0, 1, 1]
    learner = make_learner(settings(folder), Shared())
    model = learner.fit(toy.pairs(8), seed=0, updates=2)
    swapped = Texts.of(*reversed(toy.pairs(8).texts.columns))
    assert not np.allclose(model.logits(swapped), model.logits(toy.pairs(8).texts))


@pytest.mark.parametrize("family", ["llama", "qwen"])
def test_a_causal_model_reads_the_last_token(family: str, tmp_path: Path) -> None:
    tiny.saved(family, tmp_path)
    chosen = settings(tmp_path / family)
    learner = make_learner(chosen, Shared())
    assert learner.pretrained.is_causal
    model = learner.fit(toy.single(), seed=0)
    assert toy.accuracy(model, toy.single()) > 0.9
    texts = list(toy.single(6, seed=2).texts.columns[0])
    alone = np.concatenate([model.logits(Texts.of([text])) for text in texts])
    np.testing.assert_allclose(model.logits(Texts.of(texts)), alone, atol=1e-4)
    # No mark of its own between two texts: a line break stands there.
    joined = learner.pretrained.tokens(Texts.of(["a film"], ["good"])).ids
    assert joined == learner.pretrained.tokens(Texts.of(["a film\ngood"])).ids


def test_long_texts_are_cut(folder: Path) -> None:
    tokens = Pretrained(settings(folder, max_tokens=8), folder).tokens(
        Texts.of(["the film " * 20, "good"])
    )
    assert [len(ids) for ids in tokens.ids] == [8, 3]


def test_tokens_and_weights_are_shared(folder: Path) -> None:
    shared, texts = Shared(), toy.single().texts
    one = make_learner(settings(folder), shared)
    other = make_learner(settings(folder, head_dropout=0.3), shared)
    assert one.pretrained.tokens(texts) is other.pretrained.tokens(texts)
    assert one.pretrained._weights is other.pretrained._weights
    assert one.identity != other.identity


def test_identity_depends_on_the_weights_not_the_path(folder: Path, tmp_path: Path) -> None:
    moved = toy.bert(tmp_path)
    first = make_learner(settings(folder), Shared()).identity
    assert make_learner(settings(moved), Shared()).identity == first
    (moved / "config.json").write_text((moved / "config.json").read_text() + "\n")
    assert make_learner(settings(moved), Shared()).identity != first


def test_unavailable_models_are_named(folder: Path, tmp_path: Path) -> None:
    queries = toy.single()
    with pytest.raises(InputError, match="has no config.json"):
        make_learner(settings(tmp_path), Shared()).fit(queries, 0)
    with pytest.raises(InputError, match="without a revision"):
        make_learner(settings(Path("some/model")), Shared()).fit(queries, 0)
    with pytest.raises(InputError, match="at most 64"):
        make_learner(settings(folder, max_tokens=65), Shared()).fit(queries, 0)


def test_a_loss_that_is_not_a_number_is_an_error(folder: Path) -> None:
    training = UpdateSettings(learning_rate=1e30, updates=20)
    learner = make_learner(settings(folder, training=training), Shared())
    with pytest.raises(InputError, match="lower learning_rate"):
        learner.fit(toy.single(), 0)


@pytest.mark.encoder
def test_the_real_minilm_learns_a_toy_task_in_a_few_steps() -> None:
    """Real weights: words outside the training rows are classified, because it knew them before."""
    rows = TrainingRows(
        Texts.of(
            ["a wonderful film", "an awful film", "i loved every minute", "i hated every minute"]
        ),
        np.array([1, 0, 1, 0]),
        2,
    )
    training = UpdateSettings(learning_rate=3e-4, updates=15, warmup_share=0.2)
    learner = make_learner(TransformerSettings(training=training), Shared())
    model = learner.fit(rows, seed=0)
    queries = ["a superb story", "a terrible story", "delightful and warm", "a dreadful bore"]
    assert model.predict(Texts.of(queries)).tolist() == [1, 0, 1, 0]
    assert "MiniLM" in learner.title


@pytest.mark.lm
def test_the_real_smollm2_is_trained_and_named(tmp_path: Path) -> None:
    """Real weights, two updates: the rows it saw become likelier."""
    rows = TrainingRows(Texts.of(["a wonderful film", "an awful film"]), np.array([1, 0]), 2)
    training = UpdateSettings(learning_rate=1e-4, updates=2)
    chosen = TransformerSettings(model="embedded_lm", training=training)
    learner = make_learner(chosen, Shared(language_models=tmp_path))
    assert learner.name == "embedded_lm"
    assert "4-bit weights, dequantised" in learner.title
    leads = []
    for updates in (1, 3):
        logits = learner.fit(rows, seed=0, updates=updates).logits(rows.texts)
        leads.append(logits[0, 1] - logits[0, 0] + logits[1, 0] - logits[1, 1])
    assert leads[1] > leads[0]
