"""The choice of the next token: temperature, top-k, top-p, repetition penalty.

Each row's chance is a function of the seed, its class, its number and the position, and of nothing
else: which rows it shares a batch with cannot change it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from take.generation.sampling.settings import SamplingSettings
from take.rows.arrays import Float32, Int64
from take.rows.random import mixed

_FIRST_LOOK = 256
"""Most likely tokens that nearly always hold all of top-p; where they do not, all are sorted."""


def chances(seed: int, label: int, rows: Int64, position: int) -> NDArray[np.float64]:
    """A number in [0, 1) for each row at a position: SplitMix64 of all four.

    >>> a = chances(0, 1, np.array([5, 6]), 3)
    >>> bool(a[1] == chances(0, 1, np.array([6]), 3)[0]), bool(a[0] == a[1])
    (True, False)
    """
    state = np.full(len(rows), seed, dtype=np.uint64)
    for part in (np.uint64(label), rows.astype(np.uint64), np.uint64(position)):
        state = mixed(state ^ mixed(np.atleast_1d(part)))
    return (state >> np.uint64(11)).astype(np.float64) * 2.0**-53


def choose_tokens(
    logits: Float32, written: Int64, chance: NDArray[np.float64], settings: SamplingSettings
) -> Int64:
    """The next token of each row, by inverting the distribution function at its chance.

    `written` holds the tokens of each row so far. Logits of −∞ are never chosen.

    >>> logits = np.array([[0.0, 9.0, 8.9]], dtype=np.float32)
    >>> settings = SamplingSettings(top_k=2, top_p=1.0)
    >>> [int(choose_tokens(logits, np.empty((1, 0), int), np.array([u]), settings)[0])
    ...  for u in (0.1, 0.9)]
    [1, 2]
    """
    logits = _penalised(logits, written, settings.repetition_penalty)
    # Whole rows are passed over as seldom as can be: at 256 rows × 49,000 tokens each pass counts.
    values, tokens = _most_likely(logits, settings.top_k or _FIRST_LOOK)
    highest = values[:, :1].copy()
    weights = _weights(values, highest, settings.temperature)
    if settings.top_k is not None:
        totals = weights.sum(axis=1, keepdims=True)
    else:
        totals = _weights(logits, highest, settings.temperature).sum(axis=1, keepdims=True)
        short = weights.sum(axis=1) < settings.top_p * totals[:, 0]
        if short.any() and values.shape[1] < logits.shape[1]:
            values, tokens = _most_likely(logits, logits.shape[1])
            weights = _weights(values, highest, settings.temperature)
    shares = weights / totals
    reached = np.cumsum(shares, axis=1)
    # The token that crosses top-p still belongs to the nucleus.
    reached = np.cumsum(np.where(reached - shares < settings.top_p, shares, 0.0), axis=1)
    chosen = (reached <= chance[:, None] * reached[:, -1:]).sum(axis=1)
    picked: Int64 = np.take_along_axis(tokens, chosen[:, None], axis=1)[:, 0]
    return picked


def _penalised(logits: Float32, written: Int64, penalty: float) -> Float32:
    if penalty == 1 or written.shape[1] == 0:
        return logits
    before = np.take_along_axis(logits, written, axis=1)
    after = np.where(before > 0, before / penalty, before * penalty).astype(np.float32)
    penalised = logits.copy()
    np.put_along_axis(penalised, written, after, axis=1)
    return penalised


def _weights(logits: Float32, highest: Float32, temperature: float) -> NDArray[np.float64]:
    """e^{(z − max z) / temperature}."""
    weights: NDArray[np.float64] = np.exp((logits - highest).astype(np.float64) / temperature)
    return weights


def _most_likely(logits: Float32, count: int) -> tuple[Float32, Int64]:
    """The highest logits of each row, highest first, and their tokens."""
    import torch

    top = torch.from_numpy(logits).topk(min(count, logits.shape[1]), dim=1)
    return top.values.numpy(), top.indices.numpy()
