"""Training of a network: row batches and learning rates for a fixed number of updates.

Row batches and rates follow DiLM's evaluator: each pass shuffles the rows and drops the last,
incomplete batch; the learning rate has a linear warm-up and a cosine decay.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from take.errors import InputError
from take.frozen import Frozen
from take.rows.arrays import Int32, Int64
from take.rows.random import rng

Share = Annotated[float, Field(ge=0, lt=1)]
Positive = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(ge=1)]


class UpdateSettings(Frozen):
    """AdamW with a linear warm-up, then a cosine decay to 0.

    The number of updates does not depend on the number of rows, so that methods are compared at
    equal training. There is no early stopping: that would need validation rows (full data have
    them: `take.learners.convergence`).
    """

    learning_rate: Positive
    updates: Count = 200
    warmup_share: Share = 0.0
    weight_decay: Annotated[float, Field(ge=0)] = 0.01
    batch_rows: Count = 64
    clip_norm: Positive = 1.0


def row_batches(n_rows: int, batch_rows: int, updates: int, seed: int) -> Iterator[Int64]:
    """The rows of each update: `updates` batches of min(batch_rows, n_rows) rows.

    >>> [len(rows) for rows in row_batches(5, 2, updates=3, seed=0)]
    [2, 2, 2]
    >>> sorted(next(row_batches(3, 64, updates=1, seed=0)).tolist())
    [0, 1, 2]
    """
    random = rng(seed, "learner batches")
    size = min(batch_rows, n_rows)
    made = 0
    while made < updates:
        order = random.permutation(n_rows)
        for start in range(0, n_rows - size + 1, size):
            if made == updates:
                return
            yield order[start : start + size]
            made += 1


def rate_share(update: int, updates: int, warmup_share: float) -> float:
    """The learning rate as a share of its highest: a linear rise, then half a cosine to 0.

    >>> [round(rate_share(update, 8, 0.5), 2) for update in (0, 2, 4, 6)]
    [0.0, 0.5, 1.0, 0.5]
    >>> rate_share(0, 8, 0.0)
    1.0
    """
    warm = int(warmup_share * updates)
    if update < warm:
        return update / warm
    return 0.5 * (1 + math.cos(math.pi * (update - warm) / max(1, updates - warm)))


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Torch's random numbers from a seed; its global state is restored afterwards."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


def run_updates(
    module: Any,
    backward: Callable[[Int64], float],
    n_rows: int,
    settings: UpdateSettings,
    seed: int,
    updates: int | None,
) -> float:
    """Train the module in place; returns the share of a weight that decay alone leaves.

    `backward(rows)` leaves the gradient of those rows' mean loss in the module and returns the
    loss.
    """
    steps = settings.updates if updates is None else updates
    if steps < 1:
        raise InputError(f"updates is {steps}", allowed="1 or more")
    optimiser = Optimiser(module, settings)
    module.train()
    for update, rows in enumerate(row_batches(n_rows, settings.batch_rows, steps, seed)):
        rate = settings.learning_rate * rate_share(update, steps, settings.warmup_share)
        optimiser.update(backward, rows, rate)
    module.eval()
    return optimiser.kept_share


class Optimiser:
    """AdamW; biases and the scales of norms are not decayed, as is usual."""

    def __init__(self, module: Any, settings: UpdateSettings) -> None:
        import torch

        self._settings = settings
        self._parameters = [p for p in module.parameters() if p.requires_grad]
        parts = [
            ([p for p in self._parameters if p.ndim > 1], settings.weight_decay),
            ([p for p in self._parameters if p.ndim <= 1], 0.0),
        ]
        groups = [{"params": params, "weight_decay": decay} for params, decay in parts]
        self._adamw = torch.optim.AdamW(groups, lr=settings.learning_rate, fused=True)
        self.updates = 0
        self.kept_share = 1.0
        """Of a weight that has no gradient: what decay left of it."""

    def update(self, backward: Callable[[Int64], float], rows: Int64, rate: float) -> None:
        """One update with the gradient that `backward(rows)` leaves in the module."""
        import torch

        self.updates += 1
        self.kept_share *= 1 - rate * self._settings.weight_decay
        for group in self._adamw.param_groups:
            group["lr"] = rate
        loss = backward(rows)
        if not math.isfinite(loss):
            raise InputError(
                "the loss is not a number",
                where=f"update {self.updates}",
                remedy="lower learning_rate",
            )
        torch.nn.utils.clip_grad_norm_(self._parameters, self._settings.clip_norm)
        self._adamw.step()
        self._adamw.zero_grad(set_to_none=True)


def padded(texts: Sequence[Sequence[int] | Int32]) -> Any:
    """Ids of some texts as one tensor, filled up with 0.

    >>> padded([np.array([4, 5]), np.array([6])]).tolist()
    [[4, 5], [6, 0]]
    """
    import torch

    matrix = np.full((len(texts), max(map(len, texts))), 0, dtype=np.int64)
    for row, ids in enumerate(texts):
        matrix[row, : len(ids)] = ids
    return torch.from_numpy(matrix)
