from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch

from take.errors import InputError
from take.generation.language_models import (
    LanguageModel,
    LanguageModelSettings,
    load_causal_model,
)
from tests.generation.tiny import saved


def test_a_folder_is_a_language_model(tmp_path: Path) -> None:
    lm = saved("qwen", tmp_path)
    assert lm.load_model().config.model_type == "qwen2"
    assert lm.load_model().dtype == torch.float32
    assert lm.load_tokenizer().eos_token == "<|endoftext|>"


def test_the_identity_is_by_content(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    one, two = saved("llama", tmp_path / "a"), saved("llama", tmp_path / "b")
    assert one.identity == two.identity
    weights = next((tmp_path / "b").rglob("model.safetensors"))
    weights.write_bytes(weights.read_bytes()[:-1] + b"x")
    again = LanguageModel(two.settings, tmp_path)
    assert again.identity != one.identity


def test_pickled_weights_are_refused(tmp_path: Path) -> None:
    lm = saved("llama", tmp_path)
    for file in lm.folder.glob("*.safetensors"):
        file.rename(file.with_name("pytorch_model.bin"))
    with pytest.raises(InputError, match="pickled weights are never loaded"):
        _ = LanguageModel(lm.settings, tmp_path).folder


def test_a_model_s_own_code_is_never_run(tmp_path: Path) -> None:
    import json

    lm = saved("llama", tmp_path)
    config = json.loads((lm.folder / "config.json").read_text())
    config["auto_map"] = {"AutoModelForCausalLM": "evil.Model"}
    config["model_type"] = "evil"
    (lm.folder / "config.json").write_text(json.dumps(config))
    marker = tmp_path / "it-ran"
    (lm.folder / "evil.py").write_text(f"open({str(marker)!r}, 'w').close()\nclass Model: pass\n")
    with pytest.raises((ValueError, OSError)):
        lm.load_model()
    assert not marker.exists()


@pytest.mark.parametrize("revision", ["main", "v1", "93efa2f"])
def test_a_hub_model_is_pinned_to_a_commit(revision: str) -> None:
    with pytest.raises(ValueError, match="revision"):
        LanguageModelSettings(model="HuggingFaceTB/SmolLM2-135M", revision=revision)


def test_without_a_hub_the_error_names_the_way_out(tmp_path: Path) -> None:
    settings = LanguageModelSettings(model="google/gemma-3-270m", revision="9" * 40)
    with pytest.raises(InputError, match="set language_model.model in globals.yml to embedded"):
        _ = LanguageModel(settings, tmp_path).folder


@pytest.mark.lm
def test_the_embedded_model_is_converted_once_and_again_if_altered(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        folder = LanguageModel(LanguageModelSettings(), tmp_path).folder
        assert LanguageModel(LanguageModelSettings(), tmp_path).folder == folder
    assert caplog.text.count("Converting") == 1
    config = folder / "config.json"
    config.write_text(config.read_text() + " ")
    lm = LanguageModel(LanguageModelSettings(), tmp_path)
    with caplog.at_level(logging.INFO):
        assert lm.folder == folder
    assert caplog.text.count("Converting") == 2
    assert "was altered" in caplog.text
    # 4-bit weights never go by the original's name
    assert "4-bit" in lm.title
    tokens = lm.load_tokenizer()("The capital of France is", return_tensors="pt")
    with torch.inference_mode():
        best = lm.load_model()(**tokens).logits[0, -1].argmax()
    assert lm.load_tokenizer().decode(best).strip() == "Paris"


def test_threads_that_load_a_model_at_once_get_its_weights(tmp_path: Path) -> None:
    """`ThreadRunner` runs the nodes that measure the pool and attack the model side by side."""
    saved("llama", tmp_path)
    with ThreadPoolExecutor(4) as threads:
        loaded = list(threads.map(lambda _: load_causal_model(tmp_path / "llama"), range(8)))
    first, *others = [model.state_dict() for model in loaded]
    for other in others:
        assert all(torch.equal(first[name], other[name]) for name in first)
