"""On tiny models; interruption and resuming stand in test_resume.py."""

import json

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from take.errors import InputError
from take.generation.finetuning import training
from take.generation.finetuning.adapter import load_tuned
from take.generation.finetuning.fine_tuning_report import loss_curve
from take.generation.finetuning.training import fine_tune
from take.generation.finetuning.updates import PlainStepper, Stepped, mean_loss, rate_share
from take.generation.vocabulary import Vocabulary
from tests.generation import tiny
from tests.generation.finetuning.conftest import contents, quick


def run(made, settings, folder, n_rows=60):
    rows = made.rows(settings, n_rows)
    return fine_tune(made.language_model, made.template, rows, settings, folder)


@pytest.mark.parametrize("method", ["lora", "full"])
@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_validation_loss_falls(family, method, bench, tmp_path):
    report = run(bench(family), quick(method=method, accumulation=2, batch_rows=4), tmp_path).report
    losses = [evaluation.loss for evaluation in report.validation_loss]
    assert len(losses) == 5
    assert min(losses) < losses[0] - 0.5
    assert report.method == method
    assert report.rows.train_rows + report.rows.validation_rows == report.rows.corpus_rows == 60
    assert report.tokens == pytest.approx(report.epochs * report.rows.train_tokens)
    assert 2 < report.epochs <= 3


def test_the_report_holds_no_text_and_no_path(bench, tmp_path):
    report = run(bench("llama"), quick(), tmp_path).report
    text = report.model_dump_json()
    assert "film" not in text
    assert str(bench("llama").language_model.folder) not in text
    assert report == type(report).model_validate(json.loads(text))


def test_same_seed_same_bytes_whenever_checkpoints_are_written(bench, tmp_path):
    settings = {"lora_dropout": 0.1}
    often = run(bench("gpt2"), quick(checkpoint_seconds=0, **settings), tmp_path / "often")
    never = run(bench("gpt2"), quick(checkpoint_seconds=3600, **settings), tmp_path / "never")
    other = run(bench("gpt2"), quick(seed=1, **settings), tmp_path / "other")
    assert contents(often.folder) == contents(never.folder)
    assert contents(often.folder) != contents(other.folder)


def test_the_callers_random_state_is_left_alone(bench, tmp_path):
    torch.manual_seed(5)
    before = torch.get_rng_state()
    run(bench("gpt2"), quick(), tmp_path)
    assert torch.equal(before, torch.get_rng_state())


def test_stops_early_and_keeps_the_weights_of_the_best_evaluation(bench, tmp_path, monkeypatch):
    losses, seen = iter([5.0, 3.0, 2.0, 4.0, 2.0, 1.0, 1.0]), []

    def measured(model, *_):
        weights = {name: p.clone() for name, p in model.named_parameters() if "lora_" in name}
        seen.append(weights)
        return next(losses)

    monkeypatch.setattr(training, "mean_loss", measured)
    tuned = run(bench("llama"), quick(evaluations=6, patience=2), tmp_path)
    report = tuned.report
    assert report.stopped_early
    assert [evaluation.loss for evaluation in report.validation_loss] == [5, 3, 2, 4, 2]
    assert report.kept_update == report.validation_loss[2].update
    assert report.updates < report.planned_updates
    saved = load_file(tuned.folder / "adapter_model.safetensors")
    best = {
        f"base_model.model.{name.replace('.default', '')}": tensor
        for name, tensor in seen[2].items()
    }
    assert saved.keys() == best.keys()
    assert all(torch.equal(saved[name], best[name]) for name in saved)


def test_without_evaluations_the_last_weights_are_kept(bench, tmp_path):
    report = run(bench("llama"), quick(evaluations=0), tmp_path).report
    assert report.validation_loss == []
    assert report.kept_update == report.updates == report.planned_updates


def test_warns_if_the_validation_loss_did_not_fall(bench, tmp_path, monkeypatch, caplog):
    losses = iter([1.0, 2.0, 2.0, 2.0, 2.0])
    monkeypatch.setattr(training, "mean_loss", lambda *_: next(losses))
    run(bench("llama"), quick(), tmp_path)
    assert "no lower than before training" in caplog.text


@pytest.mark.parametrize("method", ["lora", "full"])
def test_a_rate_far_too_high_is_refused_and_nothing_is_saved(method, bench, tmp_path):
    with pytest.raises(InputError, match="lower learning_rate"):
        run(bench("llama"), quick(method=method, learning_rate=1.0, lora_alpha=10_000), tmp_path)
    assert not (tmp_path / "adapter").exists()
    assert not (tmp_path / "report.json").exists()


def test_a_loss_that_is_not_a_number_is_refused(bench, tmp_path, monkeypatch):
    monkeypatch.setattr(PlainStepper, "step", lambda *_: Stepped(float("nan"), 10, 10))
    with pytest.raises(InputError, match="not a number"):
        run(bench("llama"), quick(), tmp_path)
    assert not (tmp_path / "adapter").exists()


def test_a_finished_training_is_not_done_again(bench, tmp_path, monkeypatch):
    first = run(bench("llama"), quick(), tmp_path)
    monkeypatch.setattr(training, "Training", None)
    again = run(bench("llama"), quick(checkpoint_seconds=5), tmp_path)
    assert again == first
    with pytest.raises(TypeError):  # other settings would train
        run(bench("llama"), quick(seed=1), tmp_path)


def test_a_finished_adapter_that_was_altered_is_made_again(bench, tmp_path):
    first = run(bench("llama"), quick(), tmp_path)
    whole = contents(first.folder)
    (first.folder / "adapter_config.json").write_text("{}")
    run(bench("llama"), quick(), tmp_path)
    assert contents(first.folder) == whole


def test_accumulated_batches_are_one_batch(bench):
    """The mean is over all tokens of an update, not over means of batches."""
    made, settings = bench("llama"), quick(evaluations=0, clip_norm=1000)
    rows = made.rows(settings).train
    order = np.argsort(rows.lengths)
    gradients = []
    for plan in ([order[:2], order[-6:]], [np.concatenate([order[:2], order[-6:]])]):
        model = made.language_model.load_model().train()
        stepper = PlainStepper(model, rows, settings, made.template.end_id)
        stepper._plan = [tuple(plan)]
        stepper.optimizer.step = lambda model=model: gradients.append(
            torch.cat([p.grad.flatten() for p in model.parameters()])
        )
        stepper.step(0)
    torch.testing.assert_close(gradients[0], gradients[1], rtol=1e-3, atol=1e-6)


def test_the_rate_rises_then_falls_to_nothing():
    shares = [rate_share(update, 100, 0.1) for update in range(100)]
    assert np.argmax(shares) in (9, 10)
    assert shares[0] < 0.11
    assert shares[-1] < 0.001
    assert rate_share(0, 1, 0.0) == 1


def test_the_loss_curve_is_short():
    assert loss_curve([]) == []
    assert len(loss_curve([1.0] * 1234)) == 100


def test_a_tiny_corpus_is_enough(bench, tmp_path):
    settings = quick()
    rows = bench("qwen").rows(settings, 2)
    assert len(rows.validation) == 0
    tuned = fine_tune(
        bench("qwen").language_model, bench("qwen").template, rows, settings, tmp_path
    )
    assert tuned.report.updates == 3
    assert tuned.report.rows.train_rows == 2


def test_bfloat16_trains_to_nearly_the_same_loss(bench, tmp_path):
    """Frozen matrices and products in 8 bits of precision; what is trained stays in 32."""
    made = bench("llama")
    reports = {}
    for precision in ("float32", "bfloat16"):
        settings = quick(precision=precision)
        rows = made.rows(settings)
        tuned = fine_tune(made.language_model, made.template, rows, settings, tmp_path / precision)
        reports[precision] = tuned.report
    wide, narrow = (reports[name].validation_loss for name in ("float32", "bfloat16"))
    assert narrow[0].loss == pytest.approx(wide[0].loss, rel=0.01)
    assert narrow[0].loss != wide[0].loss
    assert narrow[-1].loss == pytest.approx(wide[-1].loss, rel=0.03)
    assert narrow[-1].loss < 0.9 * narrow[0].loss


def test_a_cut_vocabulary_trains_the_same_adapter_layers(bench, tmp_path):
    """The adapter of a cut model fits the whole one, and lowers its loss."""
    made = bench("llama")
    settings = quick()
    rows = made.rows(settings)
    used = sorted(
        {token for part in (rows.train, rows.validation) for ids in part.token_ids for token in ids}
    )
    vocabulary = Vocabulary(np.array(used))
    tuned = fine_tune(made.language_model, made.template, rows, settings, tmp_path, vocabulary)
    assert tuned.report.vocabulary == len(used)
    end = made.template.end_id
    before, after = (
        mean_loss(model, rows.validation, 8, end)
        for model in (
            made.language_model.load_model(),
            load_tuned(made.language_model, tuned.folder),
        )
    )
    assert after < 0.9 * before
