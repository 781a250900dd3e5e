"""How likely a language model finds texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from take.generation.template import fold, plain_ids
from take.rows.blocks import block_bounds

_BATCH = 8
_MAX_TOKENS = 256


def mean_losses(model: Any, tokenizer: Any, texts: Sequence[str]) -> NDArray[np.float64]:
    """−log p per token of each text, after the end token (which models read as "a text begins").

    exp of the mean over texts is their perplexity. Only the first 256 tokens are read.
    """
    import torch

    start = tokenizer.eos_token_id if tokenizer.bos_token_id is None else tokenizer.bos_token_id
    encoded = [[start, *plain_ids(tokenizer, fold(text))[:_MAX_TOKENS]] for text in texts]
    losses = np.zeros(len(texts))
    order = sorted(range(len(texts)), key=lambda i: len(encoded[i]))
    for low, high in block_bounds(len(order), _BATCH):
        rows = order[low:high]
        width = max(len(encoded[row]) for row in rows)
        ids = torch.tensor([encoded[row] + [start] * (width - len(encoded[row])) for row in rows])
        # Padding stands to the right of a text: causal attention never looks there.
        with torch.inference_mode():
            logits = model(input_ids=ids).logits[:, :-1]
        taken = logits.logsumexp(-1) - logits.gather(2, ids[:, 1:, None])[:, :, 0]
        for row, values in zip(rows, taken, strict=True):
            losses[row] = float(values[: max(1, len(encoded[row]) - 1)].mean())
    return losses
