"""On tiny models of each family, and of two that transform their logits."""

import numpy as np
import pytest
import torch
import transformers

from take.generation.finetuning.adapter import load_tuned
from take.generation.finetuning.token_rows import Rows
from take.generation.finetuning.training import fine_tune
from take.generation.finetuning.updates import mean_loss, padded, text_losses, token_losses
from tests.generation import tiny
from tests.generation.finetuning.conftest import quick

SIZES = {
    "vocab_size": 90,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}
ROWS = Rows(
    ((5, 6, 20, 21, 22, 1), (5, 7, 30, 1), (5, 6, 40, 41, 1)), np.array([2, 2, 2]), np.arange(3)
)


def model_of(family):
    if family == "softcapped":
        config = transformers.Gemma2Config(**SIZES, head_dim=8, final_logit_softcapping=2.0)
    elif family == "scaled":
        config = transformers.GraniteConfig(**SIZES, logits_scaling=8.0)
    else:
        return tiny.model(family, 90)
    torch.manual_seed(0)
    return transformers.AutoModelForCausalLM.from_config(config).eval()


@pytest.mark.parametrize("family", [*tiny.FAMILIES, "softcapped", "scaled"])
def test_is_the_models_own_loss_on_each_row_alone(family):
    model = model_of(family)
    with torch.no_grad():
        ours = token_losses(model, padded(ROWS, np.arange(3), pad_id=1))
        theirs = []
        for ids, prompt in zip(ROWS.token_ids, ROWS.prompt_lengths, strict=True):
            whole = torch.tensor([ids])
            logits = model(input_ids=whole, attention_mask=torch.ones_like(whole)).logits[0]
            taken = torch.nn.functional.cross_entropy(
                logits[prompt - 1 : -1], whole[0, prompt:], reduction="none"
            )
            theirs.append(taken)
    torch.testing.assert_close(ours, torch.cat(theirs), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_neither_pad_id_nor_pad_length_matters(family):
    model = model_of(family)
    longer = Rows(
        (*ROWS.token_ids, (5, 6, *range(50, 80), 1)), np.array([2, 2, 2, 2]), np.arange(4)
    )
    with torch.no_grad():
        plain = token_losses(model, padded(ROWS, np.arange(3), pad_id=1))
        other = token_losses(model, padded(ROWS, np.arange(3), pad_id=33))
        stretched = token_losses(model, padded(longer, np.arange(4), pad_id=1))
    assert torch.equal(plain, other)
    torch.testing.assert_close(stretched[: len(plain)], plain, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_padding_gets_no_gradient(family):
    model = model_of(family)
    batch = padded(ROWS, np.arange(3), pad_id=1)
    seen = []

    def keep(_, __, states):
        states.requires_grad_(True).retain_grad()
        seen.append(states)

    model.requires_grad_(False)
    model.get_input_embeddings().register_forward_hook(keep)
    token_losses(model, batch).sum().backward()
    gradient = seen[0].grad.abs().sum(-1)
    for i, ids in enumerate(ROWS.token_ids):
        assert (gradient[i, : len(ids) - 1] > 0).all()
        # The end token is predicted and predicts nothing; what is after it is padding.
        assert (gradient[i, len(ids) - 1 :] == 0).all()


def test_only_what_is_learned_goes_through_the_head():
    model = model_of("llama")
    seen = []
    model.get_output_embeddings().register_forward_hook(
        lambda _, inputs, __: seen.append(inputs[0].shape)
    )
    batch = padded(ROWS, np.arange(3), pad_id=1)
    token_losses(model, batch)
    assert seen == [(len(batch.target_ids), 32)]
    model(input_ids=torch.from_numpy(batch.token_ids))  # the hook is gone
    assert seen[-1] == (3, 6, 32)


def test_mean_loss_does_not_depend_on_batches_and_leaves_the_mode():
    model = model_of("qwen").train()
    one, many = (mean_loss(model, ROWS, batch_rows, pad_id=1) for batch_rows in (1, 3))
    assert one == pytest.approx(many, rel=1e-5)
    assert model.training


@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_the_end_token_is_learned_where_a_text_ends_and_only_there(family, bench, tmp_path):
    """Qwen's pad token is its end token, GPT-2's and Llama's tokenizers have no pad token."""
    made = bench(family)
    settings = quick(method="full", token_budget=12_000, max_epochs=10)
    rows = made.rows(settings)
    tuned = fine_tune(made.language_model, made.template, rows, settings, tmp_path)

    def chance_of_end(model):
        """At the last token of each text, and on average before it."""
        at_end, before = [], []
        for ids, prompt in zip(rows.train.token_ids, rows.train.prompt_lengths, strict=True):
            if ids[-1] != made.template.end_id:
                continue  # cut in the middle of a sentence: no text ends there
            with torch.no_grad():
                logits = model(input_ids=torch.tensor([ids])).logits[0]
            chances = logits.softmax(-1)[:, made.template.end_id]
            at_end.append(float(chances[-2]))
            before.append(float(chances[prompt - 1 : -2].mean()))
        return np.mean(at_end), np.mean(before)

    end_before_training, _ = chance_of_end(made.language_model.load_model())
    at_end, elsewhere = chance_of_end(load_tuned(made.language_model, tuned.folder))
    assert at_end > 10 * end_before_training
    assert at_end > 10 * elsewhere > 0


TEXTS = ["a warm film", "the plot is dull, the jokes are worse", "x"]


@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_text_losses_are_those_of_each_text_alone(family):
    words = tiny.tokenizer(family)
    lm = tiny.model(family, len(words))
    start = words.eos_token_id if words.bos_token_id is None else words.bos_token_id
    expected = []
    for text in TEXTS:
        ids = torch.tensor([[start, *words(text, add_special_tokens=False)["input_ids"]]])
        with torch.inference_mode():
            expected.append(float(lm(input_ids=ids, labels=ids).loss))
    np.testing.assert_allclose(text_losses(lm, words, TEXTS), expected, rtol=1e-4)


def test_no_texts_have_no_losses():
    words = tiny.tokenizer("gpt2")
    assert len(text_losses(tiny.model("gpt2", len(words)), words, [])) == 0
