"""Updates: batches of rows of similar length, the loss on their texts, clipping, AdamW.

With a vocabulary of 49,000 tokens, the head costs as much as many layers. The model's own `forward`
runs, so that scaled or soft-capped logits (Gemma, Granite, Cohere) are right; but a hook passes to
the head only the states that predict a token to be learned. Private updates are in `private.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from take.errors import InputError
from take.generation.finetuning.fine_tuning_report import PrivacyReport
from take.generation.finetuning.fine_tuning_settings import FineTuningSettings
from take.generation.finetuning.token_rows import Rows
from take.generation.template import fold, plain_ids
from take.precision import products
from take.rows.arrays import Bools, Float64, Int64
from take.rows.random import rng

# The share of updates over which the learning rate rises.
_WARMUP_SHARE = 0.05
# A training does not recover from a loss this many times that of uniform guessing, or of the start.
_TIMES_GUESSING, _TIMES_FIRST = 2.0, 3.0
# Texts that `text_losses` reads at a time, and the tokens of each that it reads.
_BATCH_TEXTS, _MAX_TEXT_TOKENS = 8, 256


@dataclass(frozen=True)
class PaddedBatch:
    """Rows as one array, padded on the right.

    The states of a causal model do not depend on later tokens, so padding needs no mask: it is
    enough that it has no loss.
    """

    token_ids: Int64
    """(rows, longest)."""
    predicts: Bools
    """(rows, longest): the positions whose next token is to be learned."""
    target_ids: Int64
    """The next token at those positions, row after row."""
    target_rows: Int64
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
        # The last token of the prompt predicts the first of the text. After an empty prompt, no
        # token predicts the first of the text.
        predicts[i, max(0, int(rows.prompt_lengths[index]) - 1) : len(ids) - 1] = True
        if rows.given is not None:
            start, stop = rows.given[index]
            predicts[i, max(0, start - 1) : max(0, stop - 1)] = False
    row, column = np.nonzero(predicts)
    tokens = sum(map(len, chosen))
    return PaddedBatch(token_ids, predicts, token_ids[row, column + 1], row, tokens)


def epoch_batches(lengths: Int64, batch_rows: int, random: np.random.Generator) -> list[Int64]:
    """Every row once: rows of similar length together, the batches in random order.

    >>> batches = epoch_batches(np.array([5, 2, 5, 2]), 2, np.random.default_rng(0))
    >>> sorted(sorted(batch.tolist()) for batch in batches)
    [[0, 2], [1, 3]]
    """
    order = np.lexsort((random.random(len(lengths)), lengths))
    batches = [order[start : start + batch_rows] for start in range(0, len(order), batch_rows)]
    return [batches[index] for index in random.permutation(len(batches))]


def plan_updates(lengths: Int64, settings: FineTuningSettings) -> list[tuple[Int64, ...]]:
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
    """Mean −ln p per token to be learned, over all rows."""
    losses = row_losses(model, rows, batch_rows, pad_id)
    return float(losses.total.sum() / losses.tokens.sum())


class RowLosses(NamedTuple):
    """Σ −ln p over the tokens to be learned of each row, and their number."""

    total: Float64
    tokens: Int64


def row_losses(model: Any, rows: Rows, batch_rows: int, pad_id: int) -> RowLosses:
    """The losses of each row; the model is left in the mode it was in."""
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


def text_losses(model: Any, tokenizer: Any, texts: Sequence[str]) -> Float64:
    """Mean −ln p per token of each text after a start token, over its first 256 tokens.

    exp of the mean over texts is their perplexity. A text without tokens has none (NaN).
    """
    start = tokenizer.eos_token_id if tokenizer.bos_token_id is None else tokenizer.bos_token_id
    ids = [plain_ids(tokenizer, fold(text))[:_MAX_TEXT_TOKENS] for text in texts]
    rows = Rows(
        tuple((start, *tokens) for tokens in ids), np.ones(len(ids), np.int64), np.arange(len(ids))
    )
    losses = row_losses(model, rows, _BATCH_TEXTS, start)
    return np.where(losses.tokens > 0, losses.total / np.maximum(1, losses.tokens), np.nan)


class Stepped(NamedTuple):
    """What an update did."""

    loss: float | None
    """Mean per token, before the update; None if the update drew no rows."""
    tokens: int
    positions: int


class Stepper(Protocol):
    """Does updates one after the other; each depends only on its number and the weights."""

    updates: int
    tokens: int
    """Of all updates, as far as it is known in advance."""
    optimizer: Any
    """The torch optimizer, whose state is part of a checkpoint."""

    def step(self, update: int) -> Stepped:
        """Do update number `update`."""
        ...

    def spent(self, updates: int) -> PrivacyReport | None:
        """The privacy budget that this many updates spent, if it is counted."""
        ...


class PlainStepper:
    """Updates over planned batches, loss averaged over all their tokens."""

    def __init__(self, model: Any, rows: Rows, settings: FineTuningSettings, pad_id: int) -> None:
        self._model, self._rows, self._pad_id = model, rows, pad_id
        self._clip_norm, self._precision = settings.clip_norm, settings.used_precision
        self._parameters = [p for p in model.parameters() if p.requires_grad]
        lengths = rows.lengths
        self._plan = plan_updates(lengths, settings)
        self.updates = len(self._plan)
        self.tokens = sum(int(lengths[batch].sum()) for update in self._plan for batch in update)
        self.optimizer = adamw(self._parameters, settings)

    def step(self, update: int) -> Stepped:
        """Do update number `update`."""
        import torch

        batches = [padded(self._rows, batch, self._pad_id) for batch in self._plan[update]]
        targets = sum(len(batch.target_ids) for batch in batches)
        total = 0.0
        for batch in batches:
            with products(self._precision):
                loss = token_losses(self._model, batch).sum() / targets
            total += float(loss.detach())
            loss.backward()
        norm = float(torch.nn.utils.clip_grad_norm_(self._parameters, self._clip_norm))
        if not math.isfinite(norm):
            raise diverged("the gradient is not a number", update)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        positions = sum(batch.token_ids.size for batch in batches)
        return Stepped(total, sum(batch.tokens for batch in batches), positions)

    def spent(self, updates: int) -> PrivacyReport | None:
        """None: it is not counted."""
        return None


def adamw(parameters: list[Any], settings: FineTuningSettings) -> Any:
    """AdamW; its learning rate is set before each update."""
    import torch

    return torch.optim.AdamW(
        parameters, lr=settings.learning_rate, weight_decay=settings.weight_decay, fused=True
    )


def rate_share(update: int, updates: int, warmup_share: float = _WARMUP_SHARE) -> float:
    """The learning rate as a share of its highest: a linear rise, times a cosine down to 0.

    >>> [round(rate_share(u, 10, 0.2), 2) for u in (0, 1, 5, 9)]
    [0.5, 0.98, 0.5, 0.02]
    """
    rise = min(1.0, (update + 1) / max(1.0, warmup_share * updates))
    return rise * 0.5 * (1 + math.cos(math.pi * update / updates))


def evaluation_points(updates: int, evaluations: int) -> frozenset[int]:
    """The updates after which the validation loss is measured: evenly spread, with the last.

    >>> sorted(evaluation_points(10, 4))
    [2, 5, 8, 10]
    """
    return frozenset(max(1, round(updates * i / evaluations)) for i in range(1, evaluations + 1))


def check_loss(loss: float, first: float, vocabulary: int, update: int) -> None:
    """Stop a training that diverges, before anything of it is kept."""
    limit = max(_TIMES_GUESSING * math.log(vocabulary), _TIMES_FIRST * first)
    if not math.isfinite(loss):
        raise diverged("the loss is not a number", update)
    if loss > limit:
        raise diverged(f"the loss is {loss:.1f} per token, {first:.1f} at the start", update)


def diverged(problem: str, update: int) -> InputError:
    """The error of a training that diverges."""
    return InputError(
        problem,
        where=f"fine-tuning, update {update + 1}",
        remedy="lower learning_rate, for example to a third",
    )
