"""Training until validation rows get no better: on toys, with each kind of learner."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from take.errors import InputError
from take.learners import (
    ConvergenceSettings,
    Learner,
    LinearSettings,
    NetworkSettings,
    Shared,
    Texts,
    TrainingRows,
    TransformerSettings,
    make_learner,
)
from take.learners import transformer as transformer_module
from take.learners.convergence import batches_alike_in_length, mean_loss, run_to_convergence
from take.learners.training import UpdateSettings
from take.learners.word_vectors import WordVectorSettings
from tests.learners import toy

pytestmark = pytest.mark.tiny_lm

KINDS = ["textcnn", "textrnn", "bert"]
LIMITS = ConvergenceSettings(max_epochs=20, patience=3, batch_rows=16)
VALIDATION = toy.single(60, seed=5)


def learner(kind: str, folder: Path, learning_rate: float = 1e-2) -> Learner:
    training = UpdateSettings(learning_rate=learning_rate, updates=20)
    if kind == "bert":
        model = str(toy.bert(folder))
        return make_learner(
            TransformerSettings(model=model, max_tokens=64, training=training, precision="float32"),
            Shared(),
        )
    words = WordVectorSettings(source=str(toy.glove(folder)))
    settings = NetworkSettings(kind=kind, words=words, filters=10, hidden=8, training=training)
    return make_learner(settings, Shared())


@pytest.mark.parametrize("kind", KINDS)
def test_the_weights_of_the_lowest_loss_are_kept(kind: str, tmp_path: Path) -> None:
    found = learner(kind, tmp_path, 3e-3).fit_to_convergence(toy.single(64), VALIDATION, 0, LIMITS)
    kept = mean_loss(found.model.logits(VALIDATION.texts), VALIDATION)
    assert kept == pytest.approx(min(found.curve), abs=1e-5)
    assert found.curve[0] > min(found.curve)
    assert toy.accuracy(found.model, toy.single(200, seed=9)) > 0.9
    assert found.rows == 64
    assert found.epochs == pytest.approx(found.updates * 16 / 64)


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_decides_everything(kind: str, tmp_path: Path) -> None:
    made = learner(kind, tmp_path)
    limits = LIMITS.model_copy(update={"max_epochs": 8})
    curves = []
    for seed in (1, 1, 2):
        torch.manual_seed(len(curves))
        found = made.fit_to_convergence(toy.single(64), VALIDATION, seed, limits)
        curves.append((found.curve, found.model.logits(VALIDATION.texts).tolist()))
    assert curves[0] == curves[1]
    assert curves[0] != curves[2]


def test_it_beats_a_few_updates(tmp_path: Path) -> None:
    """With a rate at which twenty updates are not enough."""
    made, rows = learner("textcnn", tmp_path, 1e-3), toy.single(400)
    few = mean_loss(made.fit(rows, 0).logits(VALIDATION.texts), VALIDATION)
    found = made.fit_to_convergence(rows, VALIDATION, 0, LIMITS)
    assert min(found.curve) < few / 2


def one_weight(losses: list[float], limits: ConvergenceSettings) -> tuple[object, object, list]:
    """A module of one weight that each update moves, with given validation losses."""
    module = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.ones_(module.weight)
    seen: list[float] = []
    given = iter(losses)

    def backward(rows: np.ndarray) -> float:
        module.weight.grad = torch.ones_like(module.weight)
        return 1.0

    def validation_loss() -> float:
        assert not module.training
        seen.append(float(module.weight.detach()))
        return next(given)

    training = UpdateSettings(learning_rate=0.01, updates=1, weight_decay=0.1)
    curve = run_to_convergence(
        module, backward, validation_loss, np.ones(160, dtype=np.int64), training, limits, 0
    )
    return module, curve, seen


def test_it_goes_back_at_half_the_rate_and_ends_after_patience() -> None:
    losses = [3.0, 2.0, 2.5, 2.0, 2.2, 9.0]
    limits = ConvergenceSettings(max_epochs=100, patience=3, batch_rows=8, evaluations_per_epoch=2)
    module, curve, seen = one_weight(losses, limits)
    assert curve.losses == (3.0, 2.0, 2.5, 2.0, 2.2)  # as low as before is no lower
    assert curve.updates == 50  # 20 batches an epoch: an evaluation every 10
    assert curve.epochs == 2.5
    assert float(module.weight.detach()) == seen[1]
    assert not module.training
    steps = [seen[1] - seen[2], seen[1] - seen[3], seen[1] - seen[4]]  # each from the best weights
    assert steps[1] == pytest.approx(steps[0] / 2, rel=0.05)
    assert steps[2] == pytest.approx(steps[0] / 4, rel=0.05)


def test_a_loss_that_is_hardly_lower_is_kept_but_ends_the_training() -> None:
    losses = [2.0, 1.999, 1.9985, 9.0]
    limits = ConvergenceSettings(max_epochs=100, patience=2, batch_rows=8, evaluations_per_epoch=2)
    module, curve, seen = one_weight(losses, limits)
    assert curve.losses == (2.0, 1.999, 1.9985)
    assert float(module.weight.detach()) == seen[2]


def test_decay_is_that_of_the_kept_weights() -> None:
    limits = ConvergenceSettings(max_epochs=100, patience=1, batch_rows=8, evaluations_per_epoch=2)
    _, kept, _ = one_weight([3.0, 4.0], limits)
    _, later, _ = one_weight([3.0, 2.0, 4.0], limits)
    rise = math.prod(1 - 0.01 * share / 10 * 0.1 for share in range(1, 11))
    assert kept.kept_share == pytest.approx(rise)
    assert later.kept_share == pytest.approx(rise * (1 - 0.01 * 0.1) ** 10)


def test_it_ends_after_its_epochs_and_evaluates_the_last_update() -> None:
    falling = [1 / n for n in range(1, 100)]
    limits = ConvergenceSettings(max_epochs=1, batch_rows=7, evaluations_per_epoch=2)
    _, curve, _ = one_weight(falling, limits)
    assert curve.updates == 22
    assert len(curve.losses) == 2  # after 11 updates, and 22
    with pytest.raises(InputError, match="lower learning_rate"):
        one_weight([math.nan] * 9, limits)


def test_a_narrowed_vocabulary_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = learner("bert", tmp_path)
    rows = TrainingRows(Texts.of(["the film is good", "bad plot"]), np.array([1, 0]), 2)
    limits = ConvergenceSettings(max_epochs=20)
    narrow = made.fit_to_convergence(rows, VALIDATION, 0, limits)
    monkeypatch.setattr(transformer_module, "Narrowed", _NotNarrowed)
    whole = made.fit_to_convergence(rows, VALIDATION, 0, limits)
    states = [found.model.module.state_dict() for found in (narrow, whole)]
    assert states[0].keys() == states[1].keys()
    for name in states[0]:
        torch.testing.assert_close(states[0][name], states[1][name], atol=1e-4, rtol=1e-3)


class _NotNarrowed:
    def __init__(self, *_: object) -> None: ...

    def widen(self, kept_share: float) -> None:
        assert kept_share < 1


@pytest.mark.parametrize("features", ["tfidf", "characters"])
@pytest.mark.parametrize("kind", ["lr", "siamese_lr"])
def test_logistic_regression_chooses_its_penalty(kind: str, features: str) -> None:
    settings = LinearSettings(kind=kind, vocabulary="rows", features=features)
    of_task = toy.pairs if kind == "siamese_lr" else toy.single
    rows, validation = of_task(200), of_task(100, seed=5)
    made = make_learner(settings, Shared())
    found = made.fit_to_convergence(rows, validation, 0, LIMITS)
    kept = mean_loss(found.model.logits(validation.texts), validation)
    assert kept == pytest.approx(min(found.curve))
    # Each loss is that of a model solved on its own with that penalty.
    for step, loss in enumerate(found.curve):
        alone = settings.model_copy(update={"inverse_penalty": 10 ** (step / 2 - 2)})
        logits = make_learner(alone, Shared()).fit(rows, 0).logits(validation.texts)
        assert mean_loss(logits, validation) == pytest.approx(loss, rel=1e-2)
    assert (found.updates, found.epochs) == (None, None)
    assert len(found.curve) > 3


def test_rows_of_one_class_have_a_ceiling_too() -> None:
    made = make_learner(LinearSettings(vocabulary="rows"), Shared())
    rows = TrainingRows(Texts.of(["good film", "warm plot"]), np.array([1, 1]), 2)
    found = made.fit_to_convergence(rows, VALIDATION, 0, LIMITS)
    assert found.curve == (0.0,)
    assert set(found.model.predict(VALIDATION.texts)) == {1}
    other = TrainingRows(Texts.of(["dull film"]), np.array([0]), 2)
    with pytest.raises(InputError, match="no validation row"):
        made.fit_to_convergence(rows, other, 0, LIMITS)


def test_rows_are_drawn_if_there_are_too_many(tmp_path: Path) -> None:
    rows = toy.single(200)
    weighted = TrainingRows(rows.texts, rows.labels, 2, np.arange(1.0, 201.0))
    part = ConvergenceSettings(max_rows=30).part(weighted, 0)
    places = (part.weights - 1).astype(int)
    assert part.texts.columns[0] == tuple(rows.texts.columns[0][row] for row in places)
    assert (part.labels == rows.labels[places]).all()
    assert len(set(places.tolist())) == 30
    limits = LIMITS.model_copy(update={"max_rows": 30, "max_epochs": 2})
    for kind in KINDS:
        found = learner(kind, tmp_path).fit_to_convergence(weighted, VALIDATION, 0, limits)
        assert found.rows == 30
    made = make_learner(LinearSettings(vocabulary="rows"), Shared())
    assert made.fit_to_convergence(weighted, VALIDATION, 0, limits).rows == 30


def test_batches_hold_every_row_once_and_little_padding() -> None:
    lengths = np.random.default_rng(0).integers(1, 100, size=1000)
    batches = batches_alike_in_length(lengths, 10, seed=0)
    for _ in range(2):
        one_pass = [next(batches) for _ in range(100)]
        assert sorted(np.concatenate(one_pass).tolist()) == list(range(1000))
        padded = sum(10 * lengths[batch].max() for batch in one_pass)
        assert padded < 1.05 * lengths.sum()
        firsts = [lengths[batch].max() for batch in one_pass]
        assert firsts != sorted(firsts)


@pytest.mark.parametrize(
    "changes",
    [{"max_epochs": 0}, {"patience": 0}, {"max_rows": 0}, {"evaluations_per_epoch": 101}],
)
def test_bad_limits_are_refused(changes: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=next(iter(changes))):
        ConvergenceSettings.model_validate(changes)
