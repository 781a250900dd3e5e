from __future__ import annotations

import numpy as np
import pytest
import torch

from take.generation.likelihood import mean_losses
from tests.generation.tiny import FAMILIES, model, tokenizer

TEXTS = ["a warm film", "the plot is dull, the jokes are worse", "x"]


@pytest.mark.parametrize("family", FAMILIES)
def test_losses_are_those_of_each_text_alone(family: str) -> None:
    words = tokenizer(family)
    lm = model(family, len(words))
    start = words.eos_token_id if words.bos_token_id is None else words.bos_token_id
    expected = []
    for text in TEXTS:
        ids = torch.tensor([[start, *words(text, add_special_tokens=False)["input_ids"]]])
        with torch.inference_mode():
            expected.append(float(lm(input_ids=ids, labels=ids).loss))
    np.testing.assert_allclose(mean_losses(lm, words, TEXTS), expected, rtol=1e-4)


def test_no_texts_have_no_losses() -> None:
    words = tokenizer("gpt2")
    assert len(mean_losses(model("gpt2", len(words)), words, [])) == 0
