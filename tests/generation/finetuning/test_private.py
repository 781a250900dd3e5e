"""DP-SGD on tiny models: what Opacus computes is checked against plain autograd."""

import sys

import numpy as np
import pytest
import torch

from take.errors import InputError
from take.generation.finetuning.adapter import plain_model, trainable
from take.generation.finetuning.private import PrivateStepper
from take.generation.finetuning.training import fine_tune
from take.generation.finetuning.updates import padded, token_losses
from tests.generation import tiny
from tests.generation.finetuning.conftest import contents, private


@pytest.fixture
def stepper(bench, monkeypatch):
    """A stepper whose updates leave the weights alone, with its gradient kept in `gradients`."""

    def make(family="llama", sigma=None, **changes):
        made, settings = bench(family), private(**changes)
        torch.manual_seed(0)
        model = plain_model(trainable(made.language_model.load_model(), settings))
        for name, parameter in model.named_parameters():
            if "lora_B" in name:  # begins at 0, where the gradient of A is 0, too
                torch.nn.init.normal_(parameter, std=0.1)
        if sigma is not None:
            monkeypatch.setattr(PrivateStepper, "_least_noise", lambda _: sigma)
        made_stepper = PrivateStepper(
            model,
            made.rows(settings).train,
            settings,
            made.template.end_id,
            secret=3,
        )
        made_stepper.gradients = []
        made_stepper.optimizer.step = lambda *_: made_stepper.gradients.append(
            torch.cat([p.grad.flatten() for p in made_stepper._parameters])
        )
        return made_stepper

    return make


def step_on(stepper, rows):
    """The update's gradient on these rows, as the sum over rows."""
    stepper._draw = lambda _: np.array(rows, dtype=np.int64)
    stepper.step(0)
    return stepper.gradients[-1] * stepper._private.expected_batch_size


@pytest.mark.parametrize("family", ["llama", "gemma", "qwen"])
def test_without_noise_and_clipping_it_is_the_ordinary_gradient(family, stepper):
    made = stepper(family, sigma=0.0, privacy={"clip_norm": 1000.0})
    ours = step_on(made, [4, 9, 30])
    made._samples.remove_hooks()
    for p in made._parameters:
        p.grad = None
    for row in (4, 9, 30):  # each alone: no padding, no batch
        batch = padded(made._rows, np.array([row]), pad_id=0)
        token_losses(made._model, batch).mean().backward()
    theirs = torch.cat([p.grad.flatten() for p in made._parameters])
    torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-4)


def test_one_row_cannot_move_the_sum_by_more_than_the_clip_norm(stepper, monkeypatch):
    made = stepper(sigma=0.0, privacy={"clip_norm": 0.5})
    plain = PrivateStepper._row_losses
    *quiet, loud = np.argsort(made._rows.lengths, kind="stable")[[0, 1, 2, -1]]
    others = step_on(made, quiet)
    huge = 1e6

    def scaled(self, batch):
        factors = torch.ones(len(batch.token_ids))
        factors[-1] = huge  # rows are sorted by length: the longest is the last
        return plain(self, batch) * factors

    monkeypatch.setattr(PrivateStepper, "_row_losses", scaled)
    moved = step_on(made, [*quiet, loud]) - others
    assert moved.norm() == pytest.approx(0.5, rel=1e-3)
    monkeypatch.setattr(PrivateStepper, "_row_losses", plain)
    free = stepper(sigma=0.0, privacy={"clip_norm": 1000.0})
    assert step_on(free, [loud]).norm() > 0.5  # it was clipped even without the factor


def test_parts_that_fit_in_memory_make_no_difference(stepper):
    rows = [0, 5, 7, 11, 20, 33]
    whole = step_on(stepper(sigma=0.0, batch_rows=8), rows)
    parts = step_on(stepper(sigma=0.0, batch_rows=2, accumulation=4), rows)
    torch.testing.assert_close(whole, parts, rtol=1e-3, atol=1e-5)


def test_an_update_without_rows_is_noise_of_the_stated_size(stepper):
    made = stepper(sigma=3.0, privacy={"clip_norm": 0.5})
    noise = step_on(made, [])
    assert float(noise.std()) == pytest.approx(1.5, rel=0.05)
    assert abs(float(noise.mean())) < 0.1
    assert made.step(0).loss is None
    assert torch.equal(made.gradients[0], made.gradients[1])  # the update's number decides
    made.step(1)
    assert not torch.equal(made.gradients[1], made.gradients[2])


def test_rows_are_drawn_each_with_the_same_chance_on_its_own(stepper):
    made = stepper(sigma=1.0)
    drawn = np.zeros((400, len(made._rows)))
    for update in range(400):
        drawn[update, made._draw(update)] = 1
    rate = made._sample_rate
    assert rate == pytest.approx(8 / 60)
    assert drawn.mean() == pytest.approx(rate, rel=0.05)
    # Independent draws: the number of rows varies as a binomial one does.
    assert drawn.sum(1).var() == pytest.approx(60 * rate * (1 - rate), rel=0.25)


@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_trains_within_epsilon(family, bench, tmp_path):
    made, settings = bench(family), private(accumulation=2, batch_rows=4)
    rows = made.rows(settings)
    tuned = fine_tune(made.language_model, made.template, rows, settings, tmp_path)
    spent = tuned.report.privacy
    assert 0.95 * 8 < spent.epsilon <= 8
    assert spent.delta == pytest.approx(1 / 600)
    assert spent.updates == tuned.report.updates
    assert spent.noise_multiplier > 0
    assert tuned.report.train_loss == []
    from safetensors.torch import load_file

    weights = load_file(tuned.folder / "adapter_model.safetensors")
    assert all(weights[name].abs().max() > 0 for name in weights if "lora_B" in name)


def test_learns_when_epsilon_is_generous(bench, tmp_path):
    from take.generation.finetuning.adapter import load_tuned
    from take.generation.finetuning.updates import mean_loss

    made = bench("llama")
    settings = private(
        token_budget=8000, max_epochs=20, learning_rate=1e-2, privacy={"target_epsilon": 100}
    )
    rows = made.rows(settings, 100)
    tuned = fine_tune(made.language_model, made.template, rows, settings, tmp_path)
    before, after = (
        mean_loss(model, rows.train, 8, made.template.end_id)
        for model in (
            made.language_model.load_model(),
            load_tuned(made.language_model, tuned.folder),
        )
    )
    assert after < before - 0.5


def test_two_runs_differ_unless_the_noise_is_seeded(bench, tmp_path, caplog):
    made = bench("qwen")

    def run(name, **privacy):
        settings = private(token_budget=1500, privacy=privacy)
        rows = made.rows(settings)
        return fine_tune(made.language_model, made.template, rows, settings, tmp_path / name)

    secret, other = run("a", noise_seed=None), run("b", noise_seed=None)
    assert contents(secret.folder) != contents(other.folder)
    assert not secret.report.privacy.repeatable
    assert "noise_seed" not in caplog.text
    seeded, again = run("c"), run("d")
    assert contents(seeded.folder) == contents(again.folder)
    assert seeded.report.privacy.repeatable
    assert "can remove the noise" in caplog.text


def test_less_epsilon_more_noise_and_fewer_updates_spend_less(stepper):
    strict, loose = (stepper(privacy={"target_epsilon": epsilon}) for epsilon in (1, 10))
    assert strict._noise_multiplier > loose._noise_multiplier
    assert strict.spent(1).epsilon < strict.spent(strict.updates).epsilon <= 1


def test_the_tighter_accountant_needs_less_noise(stepper):
    prv, rdp = (stepper(privacy={"accountant": name})._noise_multiplier for name in ("prv", "rdp"))
    assert 0.5 * rdp < prv < rdp


def test_refuses_an_epsilon_that_no_noise_reaches(stepper):
    with pytest.raises(InputError, match="raise target_epsilon or delta"):
        stepper(privacy={"target_epsilon": 1e-7, "delta": 1e-12})


def test_refuses_without_opacus_before_training(bench, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "opacus", None)
    made, settings = bench("llama"), private()
    with pytest.raises(InputError, match=r"pip install 'take\[privacy\]'"):
        fine_tune(made.language_model, made.template, made.rows(settings), settings, tmp_path)
    assert not list(tmp_path.iterdir())


def private_stepper(made, model):
    settings = private()
    return PrivateStepper(model, made.rows(settings).train, settings, made.template.end_id, 0)


def test_refuses_trainable_layers_that_are_not_linear(bench):
    made = bench("llama")
    model = plain_model(trainable(made.language_model.load_model(), private()))
    model.model.norm.weight.requires_grad_(True)
    with pytest.raises(InputError, match=r"model\.norm is a LlamaRMSNorm"):
        private_stepper(made, model)


def test_refuses_layers_that_see_tokens_of_all_rows_as_one_batch(bench):
    """As the experts of a mixture do: a gradient per token is not one per row."""
    made = bench("llama")
    model = plain_model(trainable(made.language_model.load_model(), private()))
    layer = model.model.layers[0].mlp
    inner = layer.forward
    layer.forward = lambda x: inner(x.flatten(0, 1)).unflatten(0, x.shape[:2])
    with pytest.raises(InputError, match="one gradient per row"):
        private_stepper(made, model)
