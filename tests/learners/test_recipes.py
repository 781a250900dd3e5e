"""The recipes `lpft` and `contrastive`: on a tiny random BERT, and with the real MiniLM."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from take.errors import InputError
from take.learners import (
    DEFAULTS,
    ConvergenceSettings,
    Learner,
    OneClass,
    Shared,
    Texts,
    TrainingRows,
    TransformerSettings,
    make_learner,
)
from take.learners import transformer as transformer_module
from take.learners.convergence import mean_loss
from take.learners.recipes import pair_loss
from take.learners.training import UpdateSettings
from tests.learners import toy

RECIPES = ["lpft", "contrastive"]
TRAINING = UpdateSettings(learning_rate=3e-3, updates=60, batch_rows=16)
STILL = UpdateSettings(learning_rate=1e-12, updates=1, weight_decay=0.0)
"""Weights stay as they are: what is left is the head."""
LIMITS = ConvergenceSettings(max_epochs=8, patience=2, batch_rows=16)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy.bert(tmp_path_factory.mktemp("bert"))


def learner(folder: Path, recipe: str, **changes: Any) -> Learner:
    given = {"model": str(folder), "max_tokens": 64, "training": TRAINING, "precision": "float32"}
    return make_learner(TransformerSettings(recipe=recipe, **(given | changes)), Shared())


def probe_logits(transformer: Any, tokens: Any, rows: TrainingRows, n_train: int) -> np.ndarray:
    """Of the rows after the first `n_train`, from scikit-learn and one text at a time."""
    states = []
    with torch.inference_mode():
        for ids, segments in zip(tokens.ids, tokens.segments, strict=True):
            given = {"input_ids": torch.tensor([ids]), "token_type_ids": torch.tensor([segments])}
            states.append(transformer(**given).last_hidden_state[0].mean(dim=0).numpy())
    train, others = np.split(np.array(states, dtype=np.float64), [n_train])
    spread = np.sqrt(((train - train.mean(axis=0)) ** 2).sum(axis=1).mean())
    solver = LogisticRegression(max_iter=5000, tol=1e-8)
    solver.fit((train - train.mean(axis=0)) / spread, rows.labels[:n_train])
    return solver.decision_function((others - train.mean(axis=0)) / spread)


def first_rows(rows: TrainingRows, n_rows: int) -> TrainingRows:
    columns = (column[:n_rows] for column in rows.texts.columns)
    return TrainingRows(Texts.of(*columns), rows.labels[:n_rows], rows.n_classes)


def test_a_recipe_decides_what_is_not_given() -> None:
    assert DEFAULTS["transformer"].recipe == "dilm"
    assert DEFAULTS["transformer_lpft"].training.learning_rate < 1e-4
    for recipe in RECIPES:
        assert TransformerSettings(recipe=recipe, training=TRAINING).training == TRAINING
        assert TransformerSettings(recipe=recipe, head_dropout=0.2).head_dropout == 0.2
        copied = TransformerSettings.model_validate(DEFAULTS[f"transformer_{recipe}"].model_dump())
        assert copied == DEFAULTS[f"transformer_{recipe}"]
    with pytest.raises(ValueError, match="'dilm', 'lpft' or 'contrastive'"):
        TransformerSettings(recipe="lp-ft")
    single = TRAINING.model_copy(update={"batch_rows": 1})
    with pytest.raises(ValueError, match="takes pairs from batches"):
        TransformerSettings(recipe="contrastive", training=single)


def test_learners_have_the_names_by_which_they_are_made() -> None:
    named = {n: s for n, s in DEFAULTS.items() if isinstance(s, TransformerSettings)}
    assert {"transformer_lpft", "transformer_contrastive", "e5_lpft"} < set(named)
    for name, settings in named.items():
        assert make_learner(settings, Shared()).name == name


def test_recipes_are_told_apart(folder: Path) -> None:
    made = [learner(folder, recipe) for recipe in ("dilm", *RECIPES)]
    assert len({one.identity for one in made}) == 3
    assert len({one.title for one in made}) == 3


@pytest.mark.parametrize("kind", ["single", "pairs"])
def test_before_its_first_update_lpft_is_the_probe(kind: str, folder: Path) -> None:
    of_task = toy.pairs if kind == "pairs" else toy.single
    rows = of_task(60)
    made = learner(folder, "lpft", training=STILL)
    model = made.fit(first_rows(rows, 24), seed=0)
    queries = Texts.of(*(column[24:] for column in rows.texts.columns))
    logits = model.logits(queries)
    expected = probe_logits(
        made.pretrained.fresh().eval(), made.pretrained.tokens(rows.texts), rows, 24
    )
    np.testing.assert_allclose(logits[:, 1] - logits[:, 0], expected, atol=5e-3)
    assert np.abs(expected).max() > 0.5


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_toy_task_is_learnt(recipe: str, folder: Path) -> None:
    model = learner(folder, recipe).fit(toy.single(200), seed=0)
    assert toy.accuracy(model, toy.single(100, seed=9)) > 0.9


def test_pairs_of_rows_draw_classes_together(folder: Path) -> None:
    """More than in the transformer as it was, in rows that it was not trained on."""
    others = toy.single(60, seed=9)

    def lead(training: UpdateSettings) -> float:
        states = (
            learner(folder, "contrastive", training=training)
            .fit(toy.single(200), 0)
            .states(others.texts)
        )
        cosines = np.corrcoef(states)
        alike = others.labels[:, None] == others.labels[None, :]
        return float(cosines[alike].mean() - cosines[~alike].mean())

    assert lead(TRAINING) > lead(STILL) + 0.2


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_seed_decides_everything(recipe: str, folder: Path) -> None:
    made, queries = learner(folder, recipe), toy.single(20, seed=1).texts
    logits = []
    for seed in (3, 3, 4):
        torch.manual_seed(len(logits))
        logits.append(made.fit(toy.single(), seed, updates=5).logits(queries))
    assert (logits[0] == logits[1]).all()
    assert not np.allclose(logits[0], logits[2])
    as_set = learner(folder, recipe, training=TRAINING.model_copy(update={"updates": 5}))
    assert (as_set.fit(toy.single(), 3).logits(queries) == logits[0]).all()


@pytest.mark.parametrize("recipe", RECIPES)
def test_all_weights_move(recipe: str, folder: Path) -> None:
    made = learner(folder, recipe)
    before = made.pretrained.fresh().state_dict()
    after = made.fit(toy.single(), seed=0, updates=5).module.transformer.state_dict()
    still = {name for name in before if torch.equal(before[name], after[name])}
    assert {name.split(".")[0] for name in still} <= {"pooler"}


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("training", [STILL, TRAINING])
def test_weights_decide_between_rows_that_contradict(
    recipe: str, training: UpdateSettings, folder: Path
) -> None:
    texts = Texts.of(["the film is good"] * 2)
    for label in (0, 1):
        weights = np.array([9.0, 1.0])
        rows = TrainingRows(texts, np.array([label, 1 - label]), 2, weights)
        model = learner(folder, recipe, training=training).fit(rows, seed=0)
        assert np.isfinite(model.logits(texts)).all()
        assert model.predict(texts).tolist() == [label, label]


def test_weights_are_those_of_both_rows_of_a_pair() -> None:
    random = np.random.default_rng(0)
    states, weights = random.normal(size=(7, 5)), random.uniform(0.5, 2, size=7)
    labels = np.array([0, 1, 2, 0, 1, 1, 0])
    losses: dict[bool, list[float]] = {True: [], False: []}
    for i in range(7):
        for j in range(i):
            cosine = states[i] @ states[j] / np.linalg.norm(states[i]) / np.linalg.norm(states[j])
            alike = labels[i] == labels[j]
            losses[alike].append(weights[i] * weights[j] * (cosine - alike) ** 2)
    found = pair_loss(*map(torch.from_numpy, (states, labels, weights)))
    assert float(found) == pytest.approx(np.mean(losses[True]) + np.mean(losses[False]), rel=1e-5)


def test_pairs_across_groups_of_a_batch_count(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows go through in groups of like length; the gradient is that of all pairs."""
    rows, made = toy.single(12), learner(folder, "contrastive")
    gradients = []
    for pass_cost in (10**9, 0):
        monkeypatch.setattr(transformer_module, "_PASS_COST", pass_cost)
        module = made._fresh(rows).module.eval()
        loss = made._of_pairs(module, rows)(np.arange(12))
        gradients.append((loss, module.transformer.embeddings.word_embeddings.weight.grad))
    assert gradients[0][0] == pytest.approx(gradients[1][0], rel=1e-4)
    torch.testing.assert_close(gradients[0][1], gradients[1][1], atol=1e-6, rtol=1e-3)


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_class_without_rows_is_never_predicted(recipe: str, folder: Path) -> None:
    given, validation = toy.single(60), toy.single(20, seed=5)
    rows = TrainingRows(given.texts, given.labels * 2, 3)
    of_three = TrainingRows(validation.texts, validation.labels * 2, 3)
    made = learner(folder, recipe)
    for model in (
        made.fit(rows, seed=0),
        made.fit_to_convergence(rows, of_three, 0, LIMITS).model,
    ):
        logits = model.logits(validation.texts)
        assert (logits[:, 1] == -np.inf).all()
        assert np.isfinite(logits[:, [0, 2]]).all()
        assert toy.accuracy(model, of_three) > 0.8


@pytest.mark.parametrize("recipe", RECIPES)
def test_rows_of_one_class_need_no_training(recipe: str, folder: Path) -> None:
    rows = TrainingRows(Texts.of(["good film", "warm plot"]), np.array([1, 1]), 2)
    made, validation = learner(folder, recipe), toy.single(10)
    assert isinstance(made.fit(rows, 0), OneClass)
    found = made.fit_to_convergence(rows, validation, 0, LIMITS)
    assert isinstance(found.model, OneClass)
    assert found.curve == (0.0,)
    with pytest.raises(InputError, match="Updates is 0"):
        made.fit(toy.single(), 0, updates=0)


def test_a_ceiling_begins_at_the_probe_and_keeps_the_lowest_loss(folder: Path) -> None:
    rows, validation = toy.single(200), toy.single(60, seed=5)
    probe = learner(folder, "lpft", training=STILL)
    one = mean_loss(probe.fit(rows, 0).logits(validation.texts), validation)
    start = probe.fit_to_convergence(rows, validation, 0, LIMITS)
    assert start.curve[0] <= one + 1e-6  # its penalty suits the validation rows
    assert start.curve[0] == pytest.approx(start.curve[-1], abs=1e-4)
    found = learner(folder, "lpft").fit_to_convergence(rows, validation, 0, LIMITS)
    kept = mean_loss(found.model.logits(validation.texts), validation)
    assert kept == pytest.approx(min(found.curve), abs=1e-5)
    assert kept < 0.8 * start.curve[0]
    assert found.updates is not None
    assert found.rows == 200
    of_pairs = learner(folder, "contrastive").fit_to_convergence(rows, validation, 0, LIMITS)
    assert of_pairs.curve == found.curve


@pytest.mark.encoder
@pytest.mark.parametrize("recipe", RECIPES)
def test_the_real_minilm_learns_a_toy_task(recipe: str) -> None:
    """Real weights: words outside the training rows are classified, because it knew them before."""
    films = ["a wonderful film", "an awful film", "i loved every minute", "i hated every minute"]
    rows = TrainingRows(Texts.of(films), np.array([1, 0, 1, 0]), 2)
    made = make_learner(DEFAULTS[f"transformer_{recipe}"], Shared())
    queries = ["a superb story", "a terrible story", "delightful and warm", "a dreadful bore"]
    model = made.fit(rows, seed=0, updates=15)
    assert model.predict(Texts.of(queries)).tolist() == [1, 0, 1, 0]
    assert "MiniLM" in made.title


@pytest.mark.encoder
def test_the_real_minilm_begins_at_the_probe() -> None:
    texts = ["a wonderful film", "stocks fell sharply", "an awful film", "the bank raised rates"]
    queries = ["a superb story", "shares lost value", "shares rose on tuesday after a long fall"]
    rows = TrainingRows(Texts.of(texts + queries), np.array([1, 0, 1, 0, 1, 0, 0]), 2)
    made = make_learner(
        TransformerSettings(recipe="lpft", training=STILL, precision="float32"), Shared()
    )
    logits = made.fit(first_rows(rows, 4), seed=0).logits(Texts.of(queries))
    tokens = made.pretrained.tokens(rows.texts)
    expected = probe_logits(made.pretrained.fresh().eval(), tokens, rows, 4)
    np.testing.assert_allclose(logits[:, 1] - logits[:, 0], expected, atol=1e-3)
    assert (np.sign(expected) == [1, -1, -1]).all()
