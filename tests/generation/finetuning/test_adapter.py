"""What is on disk, on tiny models; peft and transformers themselves are the oracles."""

import json

import pytest
import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM

from take.errors import InputError
from take.generation.finetuning.adapter import load_tuned
from take.generation.finetuning.training import fine_tune
from tests.generation import tiny
from tests.generation.finetuning.conftest import contents, quick

IDS = torch.arange(3, 15)[None]


def tune(made, folder, **changes):
    settings = quick(**changes)
    rows = made.rows(settings)
    return fine_tune(made.language_model, made.template, rows, settings, folder).folder


@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_an_adapter_is_as_peft_reads_it(family, bench, tmp_path):
    made = bench(family)
    folder = tune(made, tmp_path)
    assert contents(folder).keys() == {
        "adapter_config.json",
        "adapter_model.safetensors",
        "base_model.json",
    }
    theirs = PeftModel.from_pretrained(made.language_model.load_model(), folder).eval()
    ours = load_tuned(made.language_model, folder)
    assert not ours.training
    assert not any("lora" in name for name, _ in ours.named_modules())
    with torch.no_grad():
        untouched = made.language_model.load_model()(IDS).logits
        torch.testing.assert_close(ours(IDS).logits, theirs(IDS).logits, rtol=1e-3, atol=1e-3)
        assert (ours(IDS).logits - untouched).abs().max() > 0.1


@pytest.mark.parametrize("family", ["llama", "qwen"])  # with and without tied weights
def test_a_full_model_is_as_transformers_reads_it(family, bench, tmp_path):
    made = bench(family)
    folder = tune(made, tmp_path, method="full", learning_rate=1e-3)
    assert {"config.json", "model.safetensors"} <= contents(folder).keys()
    theirs = AutoModelForCausalLM.from_pretrained(folder).eval()
    ours = load_tuned(made.language_model, folder)
    tied = ours.get_input_embeddings().weight is ours.get_output_embeddings().weight
    assert tied == (family == "llama")
    with torch.no_grad():
        assert torch.equal(ours(IDS).logits, theirs(IDS).logits)
        assert (ours(IDS).logits - made.language_model.load_model()(IDS).logits).abs().max() > 0.1


@pytest.mark.parametrize("method", ["lora", "full"])
def test_no_file_names_a_folder_of_this_machine(method, bench, tmp_path):
    made = bench("llama")
    folder = tune(made, tmp_path, method=method)
    for name, content in contents(folder).items():
        assert str(made.language_model.folder).encode() not in content, name
        assert b"/tmp" not in content, name


def test_the_head_has_no_adapter(bench, tmp_path):
    config = json.loads((tune(bench("qwen"), tmp_path) / "adapter_config.json").read_text())
    assert config["base_model_name_or_path"] == "qwen"
    assert config["target_modules"]
    assert not any("lm_head" in name for name in config["target_modules"])


def test_refuses_an_adapter_of_other_weights(bench, tmp_path):
    folder = tune(bench("llama"), tmp_path)
    with pytest.raises(InputError, match="trained on 'llama', whose weights are not"):
        load_tuned(bench("qwen").language_model, folder)


def test_refuses_a_folder_without_weights(bench, tmp_path):
    folder = tune(bench("llama"), tmp_path)
    (folder / "adapter_model.safetensors").unlink()
    (folder / "adapter_model.bin").write_bytes(b"pickled")
    with pytest.raises(InputError, match="pickled weights are never loaded"):
        load_tuned(bench("llama").language_model, folder)
    with pytest.raises(InputError, match="no fine-tuned model"):
        load_tuned(bench("llama").language_model, tmp_path / "nothing")
