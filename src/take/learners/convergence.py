"""Training on all rows until validation rows get no better: the ceiling of a learner.

Networks and transformers are trained by epochs. The loss of the validation rows is computed twice
per epoch (or as often as `evaluations_per_epoch` says). Where it has not fallen by a thousandth of
the lowest so far, training goes on from the weights of the lowest at half the learning rate; after
`patience` such evaluations in a row it ends. The weights of the lowest loss are the model.

A logistic regression is solved to its optimum for each of several penalties; the one with the
lowest validation loss is the model.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from take.errors import InputError
from take.frozen import Frozen
from take.learners.base import Model, Texts, TrainingRows
from take.learners.training import Count, Optimiser, UpdateSettings
from take.rows.arrays import Float64, Int64
from take.rows.random import rng

_FEWEST, _MOST = 10, 1000  # updates from one evaluation to the next
_GAIN = 1e-3  # a loss that is lower by a smaller share is as good as no lower
_RUN = 50  # batches that are sorted by length together
_WARM_UPDATES = 100  # at most: the learning rate rises over the first updates


class ConvergenceSettings(Frozen):
    """When training on all rows ends."""

    max_epochs: Annotated[int, Field(ge=1, le=1000)] = 30
    """Passes over the rows at most; never fewer updates than a small training set gets."""
    evaluations_per_epoch: Annotated[int, Field(ge=1, le=100)] = 2
    """More if an epoch is long: at least every 1,000 updates. Fewer if it has few updates: at
    most every 10."""
    patience: Annotated[int, Field(ge=1, le=100)] = 4
    """Evaluations in a row without a loss lower by a thousandth, after which training ends."""
    batch_rows: Count = 64
    """Of an update, whatever the learner's own setting: large batches take less time per row."""
    max_rows: Annotated[int, Field(ge=1)] | None = None
    """At most so many rows, drawn at random; None: all."""

    def part(self, rows: TrainingRows, seed: int) -> TrainingRows:
        """The rows to train on: all, or as many as `max_rows` allows.

        >>> rows = TrainingRows(Texts.of(["a", "b", "c"]), np.array([0, 1, 1]), n_classes=2)
        >>> len(ConvergenceSettings(max_rows=2).part(rows, seed=0))
        2
        >>> ConvergenceSettings(max_rows=3).part(rows, seed=0) is rows
        True
        """
        if self.max_rows is None or len(rows) <= self.max_rows:
            return rows
        order = rng(seed, "rows of a ceiling").permutation(len(rows))
        kept = np.sort(order[: self.max_rows])
        columns = ([column[row] for row in kept] for column in rows.texts.columns)
        weights = None if rows.weights is None else rows.weights[kept]
        return TrainingRows(Texts.of(*columns), rows.labels[kept], rows.n_classes, weights)


@dataclass(frozen=True)
class Curve:
    """The validation losses of a training, and what was kept of it."""

    losses: tuple[float, ...]
    """At each evaluation."""
    updates: int
    """All of them, those that were gone back on included."""
    epochs: float
    kept_share: float
    """What decay left, in the weights that were kept, of one without a gradient."""


@dataclass(frozen=True)
class Converged:
    """A model trained to convergence, and how it got there."""

    model: Model
    curve: tuple[float, ...]
    """Validation losses; the model has the lowest."""
    rows: int
    """How many were trained on."""
    updates: int | None = None
    """Optimiser steps; None: solved to its optimum."""
    epochs: float | None = None


def mean_loss(logits: Float64, rows: TrainingRows) -> float:
    """Σ_n w_n · −log softmax(z_n)[y_n] / Σ_n w_n, without rows of classes that have no logit.

    >>> rows = TrainingRows(Texts.of(["a", "b"]), np.array([0, 2]), n_classes=3)
    >>> even = np.array([[0.0, 0.0, -np.inf], [0.0, 0.0, -np.inf]])
    >>> round(mean_loss(even, rows), 4) == round(math.log(2), 4)
    True
    """
    from scipy.special import log_softmax

    losses = -log_softmax(logits, axis=1)[np.arange(len(rows)), rows.labels]
    known = np.isfinite(logits[np.arange(len(rows)), rows.labels])
    if not known.any():
        raise InputError(
            "no validation row is of a class of the training rows", where="training to convergence"
        )
    return float(np.average(losses[known], weights=rows.relative_weights[known]))


def batches_alike_in_length(lengths: Int64, batch_rows: int, seed: int) -> Iterator[Int64]:
    """The rows of each update, without end: little is computed on padding.

    Each pass shuffles the rows, sorts each run of 50 batches by length and cuts it into batches,
    which come in random order. As in `row_batches`, the last, incomplete batch is dropped.

    >>> batches = batches_alike_in_length(np.array([9, 1, 8, 2, 9, 1]), 2, seed=0)
    >>> sorted(sorted(next(batches).tolist()) for _ in range(3))
    [[0, 4], [1, 5], [2, 3]]
    """
    random = rng(seed, "batches of a ceiling")
    size = min(batch_rows, len(lengths))
    while True:
        order = random.permutation(len(lengths))[: len(lengths) // size * size]
        runs = (order[start : start + _RUN * size] for start in range(0, len(order), _RUN * size))
        alike = np.concatenate([run[np.argsort(lengths[run], kind="stable")] for run in runs])
        batches = alike.reshape(-1, size)
        yield from batches[random.permutation(len(batches))]


def run_to_convergence(
    module: Any,
    backward: Callable[[Int64], float],
    validation_loss: Callable[[], float],
    lengths: Int64,
    training: UpdateSettings,
    limits: ConvergenceSettings,
    seed: int,
) -> Curve:
    """Train the module in place; it is left with the weights of the lowest validation loss.

    `backward` is as in `run_updates`, `lengths` are those of the rows' texts. Rates, decay and
    clipping are those of `training`; its number of updates is the least that is allowed, so that
    all rows never get less training than a few.
    """
    n_rows = len(lengths)
    in_epoch = max(1, n_rows // limits.batch_rows)
    between = math.ceil(in_epoch / limits.evaluations_per_epoch)
    between = min(max(between, _FEWEST), _MOST)
    most = max(limits.max_epochs * in_epoch, training.updates)
    warm = min(between, _WARM_UPDATES)
    optimiser = Optimiser(module, training)
    losses: list[float] = []
    best: Any = None
    kept_share, rate, waited = 1.0, training.learning_rate, 0
    module.train()
    batches = islice(batches_alike_in_length(lengths, limits.batch_rows, seed), most)
    for update, rows in enumerate(batches, start=1):
        optimiser.update(backward, rows, rate * min(1.0, update / warm))
        if update % between and update != most:
            continue
        module.eval()
        lowest = min(losses, default=math.inf)
        losses.append(validation_loss())
        if losses[-1] < lowest:  # never true of what is not a number
            best, kept_share = copy.deepcopy(module.state_dict()), optimiser.kept_share
        elif best is not None:
            module.load_state_dict(best)
            optimiser.kept_share = kept_share
        if losses[-1] < lowest * (1 - _GAIN):
            waited = 0
        else:
            waited, rate = waited + 1, rate / 2
        module.train()
        if waited == limits.patience:
            break
    module.eval()
    if best is None:
        raise InputError("no validation loss is a number", remedy="lower learning_rate")
    module.load_state_dict(best)
    epochs = optimiser.updates * min(limits.batch_rows, n_rows) / n_rows
    return Curve(tuple(losses), optimiser.updates, round(epochs, 2), kept_share)
