"""Cross-entropy on a text's tokens, with nothing computed for the others that need not be.

With a vocabulary of 49,000 the head is as dear as many layers. The model's own `forward` runs, so
that scaled or soft-capped logits (Gemma, Granite, Cohere) are its own, too; but a hook hands its
head only the states that predict something to be learned.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from take.generation.finetuning.batches import PaddedBatch, padded
from take.generation.finetuning.examples import Rows


def token_losses(model: Any, batch: PaddedBatch) -> Any:
    """−ln p of every token to be learned, row after row, as a tensor."""
    import torch

    chosen = torch.from_numpy(batch.predicts)
    head = model.get_output_embeddings()
    hook = head.register_forward_pre_hook(lambda _, inputs: (inputs[0][chosen], *inputs[1:]))
    try:
        logits = model(input_ids=torch.from_numpy(batch.token_ids), use_cache=False).logits
    finally:
        hook.remove()
    targets = torch.from_numpy(batch.target_ids)
    return torch.nn.functional.cross_entropy(logits.float(), targets, reduction="none")


def mean_loss(model: Any, rows: Rows, batch_rows: int, pad_id: int) -> float:
    """Mean −ln p per token to be learned, over all rows; the model is left as it was."""
    losses = row_losses(model, rows, batch_rows, pad_id)
    return float(losses.total.sum() / losses.tokens.sum())


class RowLosses(NamedTuple):
    """Of each row, Σ −ln p over its tokens to be learned, and how many they are."""

    total: NDArray[np.float64]
    tokens: NDArray[np.int64]


def row_losses(model: Any, rows: Rows, batch_rows: int, pad_id: int) -> RowLosses:
    """What the model thinks of each row; the model is left as it was."""
    import torch

    was_training = model.training
    model.eval()
    order = np.argsort(rows.lengths, kind="stable")
    total, tokens = np.zeros(len(rows)), np.zeros(len(rows), dtype=np.int64)
    with torch.inference_mode():
        for start in range(0, len(order), batch_rows):
            places = order[start : start + batch_rows]
            batch = padded(rows, places, pad_id)
            losses = token_losses(model, batch).double().numpy()
            np.add.at(total, places[batch.target_rows], losses)
            np.add.at(tokens, places[batch.target_rows], 1)
    model.train(was_training)
    return RowLosses(total, tokens)
