"""One update: gradients of its rows, clipping, AdamW. Private updates stand in `private.py`."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

from take.errors import InputError
from take.generation.finetuning.batches import padded, plan_updates
from take.generation.finetuning.examples import Rows
from take.generation.finetuning.losses import token_losses
from take.generation.finetuning.report import PrivacyReport
from take.generation.finetuning.settings import FineTuningSettings

# A model that gives wrong tokens all its belief is worse than guessing; this much worse than
# guessing evenly, or than where it began, it will not come back.
_WORSE_THAN_GUESSING, _WORSE_THAN_AT_FIRST = 2.0, 3.0


class Stepped(NamedTuple):
    """What an update did."""

    loss: float | None
    """Mean per token, before the update; None if the update drew no rows."""
    tokens: int
    positions: int


class Stepper(Protocol):
    """Does one update after the other; the number of an update decides all about it."""

    updates: int
    tokens: int
    """Of all updates, as far as known beforehand."""
    optimizer: Any
    """The torch optimizer whose state is kept."""

    def step(self, update: int) -> Stepped:
        """Do update number `update`."""
        ...

    def spent(self, updates: int) -> PrivacyReport | None:
        """What that many updates gave away of the rows, if that is counted."""
        ...


class PlainStepper:
    """Updates over planned batches, loss averaged over all their tokens."""

    def __init__(self, model: Any, rows: Rows, settings: FineTuningSettings, pad_id: int) -> None:
        self._model, self._rows, self._pad_id = model, rows, pad_id
        self._clip_norm = settings.clip_norm
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
        """Nothing is counted."""
        return None


def adamw(parameters: list[Any], settings: FineTuningSettings) -> Any:
    """AdamW; its rate is set before each update."""
    import torch

    return torch.optim.AdamW(
        parameters, lr=settings.learning_rate, weight_decay=settings.weight_decay, fused=True
    )


def rate_share(update: int, updates: int, warmup_share: float) -> float:
    """The learning rate as a share of its highest: a linear rise, times a cosine down to 0.

    >>> [round(rate_share(u, 10, 0.2), 2) for u in (0, 1, 5, 9)]
    [0.5, 0.98, 0.5, 0.02]
    """
    rise = min(1.0, (update + 1) / max(1.0, warmup_share * updates))
    return rise * 0.5 * (1 + math.cos(math.pi * update / updates))


def check_loss(loss: float, first: float, vocabulary: int, update: int) -> None:
    """Stop a training that went astray, before anything of it is kept."""
    limit = max(_WORSE_THAN_GUESSING * math.log(vocabulary), _WORSE_THAN_AT_FIRST * first)
    if not math.isfinite(loss):
        raise diverged("the loss is not a number", update)
    if loss > limit:
        raise diverged(f"the loss is {loss:.1f} per token, after {first:.1f} at first", update)


def diverged(problem: str, update: int) -> InputError:
    """The error of a training that went astray."""
    return InputError(
        problem,
        where=f"fine-tuning, update {update + 1}",
        remedy="lower learning_rate (to a third, say), or raise warmup_share",
    )
