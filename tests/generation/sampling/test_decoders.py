from __future__ import annotations

import numpy as np
import pytest
import torch

from take import cost
from take.errors import InputError
from take.generation.sampling.decoders import load_decoder
from tests.generation.tiny import FAMILIES, model

VOCABULARY = 120
TOKENS = np.random.default_rng(0).integers(3, VOCABULARY, size=(16, 6))
PROMPT = [5, 17, 9]


def logits_by_hand(family: str, rows: np.ndarray) -> np.ndarray:
    """The last token's logits by one plain forward pass over prompt and tokens."""
    ids = torch.tensor([PROMPT + row.tolist() for row in rows])
    with torch.inference_mode():
        return model(family, VOCABULARY)(input_ids=ids).logits[:, -1].numpy()


def walk(decoder, rows: np.ndarray) -> np.ndarray:
    decoder.begin(PROMPT)
    parents = np.zeros(len(rows), dtype=np.int64)
    for tokens in rows.T:
        logits = decoder.step(tokens, parents)
        parents = np.arange(len(rows))
    return logits


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("name", "tolerance"), [("torch", 1e-4), ("openvino", 1e-3)])
def test_step_by_step_equals_one_pass(family: str, name: str, tolerance: float) -> None:
    decoder = load_decoder(name, model(family, VOCABULARY))
    expected = logits_by_hand(family, TOKENS)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(walk(decoder, TOKENS), expected, atol=tolerance * scale)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", ["torch", "openvino"])
def test_prompts_of_different_lengths_are_read_as_if_each_were_alone(
    family: str, name: str
) -> None:
    decoder = load_decoder(name, model(family, VOCABULARY))
    prompts = ([5, 17, 9, 33, 20], [8], [5, 17, 9])
    together = [decoder.begin(*prompts)]
    parents = np.array([0, 1, 2, 2, 0, 1, 1, 2])
    together.append(decoder.step(TOKENS[:8, 0], parents))
    together.append(decoder.step(TOKENS[:8, 1], np.arange(8)[::-1].copy()))
    came_from = parents[::-1]
    read = [[*prompts[p]] for p in range(3)]
    expected = [read]
    expected.append([[*prompts[p], TOKENS[i, 0]] for i, p in enumerate(parents)])
    expected.append(
        [[*prompts[p], TOKENS[7 - i, 0], TOKENS[i, 1]] for i, p in enumerate(came_from)]
    )
    for found, rows in zip(together, expected, strict=True):
        for logits, row in zip(found, rows, strict=True):
            with torch.inference_mode():
                alone = model(family, VOCABULARY)(input_ids=torch.tensor([row])).logits[0, -1]
            np.testing.assert_allclose(logits, alone.numpy(), atol=1e-3 * float(alone.abs().max()))


@pytest.mark.parametrize("name", ["torch", "openvino"])
def test_rows_leave_and_the_others_go_on(name: str) -> None:
    decoder = load_decoder(name, model("llama", VOCABULARY))
    decoder.begin(PROMPT)
    decoder.step(TOKENS[:, 0], np.zeros(16, dtype=np.int64))
    stay = np.array([1, 4, 5, 8, 9, 10, 14, 15])
    logits = decoder.step(TOKENS[stay, 1], stay)
    expected = logits_by_hand("llama", TOKENS[stay, :2])
    np.testing.assert_allclose(logits, expected, atol=1e-3 * np.abs(expected).max())


@pytest.mark.parametrize("name", ["torch", "openvino"])
def test_a_new_prompt_starts_again(name: str) -> None:
    decoder = load_decoder(name, model("llama", VOCABULARY))
    fresh = walk(decoder, TOKENS)
    decoder.begin([7, 7, 7, 7])
    decoder.step(TOKENS[:, 0], np.zeros(16, dtype=np.int64))
    np.testing.assert_array_equal(walk(decoder, TOKENS), fresh)


@pytest.mark.parametrize("family", FAMILIES)
def test_int8_stays_close(family: str) -> None:
    decoder = load_decoder("openvino_int8", model(family, VOCABULARY))
    exact = torch.from_numpy(logits_by_hand(family, TOKENS)).log_softmax(-1)
    rounded = torch.from_numpy(walk(decoder, TOKENS)).log_softmax(-1)
    divergence = (exact.exp() * (exact - rounded)).sum(-1).mean()
    assert divergence < 0.05


def test_a_model_openvino_cannot_convert_is_named_with_its_remedy() -> None:
    class Odd(torch.nn.Module):
        def forward(self, **inputs):
            raise RuntimeError("no such operation")

    with pytest.raises(InputError, match=r"cannot run .*Odd.*decoder to torch"):
        load_decoder("openvino", Odd())


def test_rows_that_fill_a_batch_up_to_the_threads_change_nothing() -> None:
    decoder = load_decoder("openvino", model("llama", VOCABULARY))
    expected = walk(decoder, TOKENS)
    decoder._row_multiple = 24
    found = walk(decoder, TOKENS)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("limit", [[], [1]])
def test_a_worker_takes_its_cores_wherever_they_are(
    monkeypatch: pytest.MonkeyPatch, limit: list[int]
) -> None:
    """Each of a machine's workers would otherwise be pinned to the first core."""
    monkeypatch.setattr(cost, "_limit", limit)
    decoder = load_decoder("openvino", model("llama", VOCABULARY))
    compiled = decoder._request.get_compiled_model()
    assert compiled.get_property("ENABLE_CPU_PINNING") is not bool(limit)
    assert compiled.get_property("INFERENCE_NUM_THREADS") == cost.available_cores()
