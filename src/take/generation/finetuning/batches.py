"""Batches of rows of nearly one length, in an order that a seed decides."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from take.generation.finetuning.examples import Rows
from take.generation.finetuning.settings import FineTuningSettings
from take.rows.arrays import Int64
from take.rows.random import rng


@dataclass(frozen=True)
class PaddedBatch:
    """Rows as one array, padded on the right.

    A causal model's states at a row's tokens do not depend on what comes after them, so padding
    needs no mask: it is enough that no loss is taken there.
    """

    token_ids: NDArray[np.int64]
    """(rows, longest)."""
    predicts: NDArray[np.bool_]
    """(rows, longest): the positions whose next token is to be learned."""
    target_ids: NDArray[np.int64]
    """The next token at those positions, row after row."""
    target_rows: NDArray[np.int64]
    """The row each of them belongs to."""
    tokens: int
    """Without padding."""


def padded(rows: Rows, indices: Int64, pad_id: int) -> PaddedBatch:
    """Some rows as one batch."""
    chosen = [rows.token_ids[index] for index in indices]
    longest = max(len(ids) for ids in chosen)
    token_ids = np.full((len(chosen), longest), pad_id, dtype=np.int64)
    predicts = np.zeros_like(token_ids, dtype=np.bool_)
    for i, (ids, index) in enumerate(zip(chosen, indices, strict=True)):
        token_ids[i, : len(ids)] = ids
        # The prompt's last token predicts the text's first. A prompt without tokens predicts
        # nothing: nothing stands before the text's first token then.
        predicts[i, max(0, int(rows.prompt_lengths[index]) - 1) : len(ids) - 1] = True
    row, column = np.nonzero(predicts)
    tokens = sum(map(len, chosen))
    return PaddedBatch(token_ids, predicts, token_ids[row, column + 1], row, tokens)


def epoch_batches(
    lengths: NDArray[np.int64], batch_rows: int, random: np.random.Generator
) -> list[Int64]:
    """Every row once: neighbours in length together, the batches in random order.

    >>> batches = epoch_batches(np.array([5, 2, 5, 2]), 2, np.random.default_rng(0))
    >>> sorted(sorted(batch.tolist()) for batch in batches)
    [[0, 2], [1, 3]]
    """
    order = np.lexsort((random.random(len(lengths)), lengths))
    batches = [order[start : start + batch_rows] for start in range(0, len(order), batch_rows)]
    return [batches[index] for index in random.permutation(len(batches))]


def plan_updates(
    lengths: NDArray[np.int64], settings: FineTuningSettings
) -> list[tuple[Int64, ...]]:
    """The batches of each update, epoch after epoch, until the token budget is spent."""
    batches: list[Int64] = []
    tokens = 0
    for epoch in range(settings.max_epochs):
        random = rng(settings.seed, "fine-tuning batches", epoch)
        for batch in epoch_batches(lengths, settings.batch_rows, random):
            if tokens >= settings.token_budget:
                break
            batches.append(batch)
            tokens += int(lengths[batch].sum())
    step = settings.accumulation
    return [tuple(batches[start : start + step]) for start in range(0, len(batches), step)]
