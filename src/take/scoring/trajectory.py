"""The probe's training trajectory θ_0 … θ_{T−1} (METHOD §1.1).

A linear head with bias, logits = W φ(x) + b, is trained on the whole corpus with cross-entropy and
AdamW. A second probe with the same start, batches and steps is not trained on the validation rows:
it shows when the head stops generalising, while the first one still uses every row. Both are
trained in one pass.

Features may be larger than memory, and reading single rows at random is slow on a disk. So an
epoch visits chunks of 64 neighbouring rows in random order, gathers 128 of them into a window of
8,192 rows, and shuffles the rows of the window. A corpus that is sorted by class is still well
mixed; one smaller than a window is shuffled fully.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from take.engine.threads import one_thread
from take.rows.arrays import Bools, Float32, Float64, Int64
from take.rows.blocks import RowBlocks
from take.rows.passes import compute_blocks
from take.rows.random import rng
from take.scoring.scoring_inputs import ScheduleName, ScoringError, ScoringSettings

N_PROBES = 2  # the one that is kept, and the one without the validation rows
UPDATES_BETWEEN_CHECKPOINTS = 4  # at least, so that neighbouring checkpoints differ
CHUNK_ROWS, WINDOW_CHUNKS = 64, 128
BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8  # AdamW's usual constants


@dataclass(frozen=True)
class ProbeTrajectory:
    """T checkpoints of the probe and how well each does. Every field is an array."""

    weights: Float32  # (T, C, d)
    biases: Float32  # (T, C)
    steps: Int64  # (T,) updates before each checkpoint; the first is 0
    train_loss: Float64  # (T,) mean cross-entropy over the whole corpus
    train_accuracy: Float64  # (T,)
    validation_rows: Int64  # rows that the second probe is not trained on
    validation_loss: Float64  # (T,) of the second probe, on those rows
    validation_accuracy: Float64  # (T,)


def checkpoint_steps(schedule: ScheduleName, checkpoints: int, updates: int) -> Int64:
    """After how many updates each of the T checkpoints is taken: 0 first, all updates last.

    `even` spreads them evenly over training; `log` in a constant ratio, which resolves early
    learning.

    >>> checkpoint_steps("even", checkpoints=5, updates=100).tolist()
    [0, 25, 50, 75, 100]
    >>> checkpoint_steps("log", checkpoints=5, updates=1000).tolist()
    [0, 1, 10, 100, 1000]
    """
    if checkpoints < 2:
        raise ScoringError(f"T is {checkpoints}", "checkpoints", "2 or more", "raise `checkpoints`")
    if updates < checkpoints - 1:
        raise ScoringError(
            f"{updates} updates cannot give {checkpoints} different checkpoints",
            "trajectory",
            f"at least {checkpoints - 1} updates",
            "raise `epochs`, or lower `batch_size` or `checkpoints`",
        )
    if schedule == "even":
        return np.linspace(0, updates, checkpoints).round().astype(np.int64)
    steps = np.geomspace(updates, 1, checkpoints - 1)[::-1].round().astype(np.int64)
    # Early steps round to the same number: push each past the one before it, but not past the end.
    later = np.arange(checkpoints - 1)
    steps = np.maximum.accumulate(steps - later) + later
    steps = np.minimum(steps, updates - later[::-1])
    return np.concatenate([[0], steps])


class _AdamW:
    """AdamW on one array, in place: θ ← θ(1 − ηα) − η m̂ / (√v̂ + ε)."""

    def __init__(self, parameter: Float32, learning_rate: float, weight_decay: float) -> None:
        self._parameter = parameter
        self._rate, self._decay = learning_rate, weight_decay
        self._mean = np.zeros_like(parameter)
        self._square = np.zeros_like(parameter)
        self._updates = 0

    def update(self, gradient: Float32) -> None:
        self._updates += 1
        self._mean += (1 - BETA_1) * (gradient - self._mean)
        self._square += (1 - BETA_2) * (gradient * gradient - self._square)
        rate = self._rate / (1 - BETA_1**self._updates)
        scale = np.sqrt(self._square / (1 - BETA_2**self._updates)) + EPSILON
        self._parameter *= 1 - self._rate * self._decay
        self._parameter -= rate * self._mean / scale


def softmax(logits: Float32) -> Float32:
    """p_c = e^{z_c} / Σ e^{z}, over the last axis.

    >>> softmax(np.array([[0.0, 0.0]], dtype=np.float32)).tolist()
    [[0.5, 0.5]]
    """
    exponentials: Float32 = np.exp(logits - logits.max(axis=-1, keepdims=True))
    exponentials /= exponentials.sum(axis=-1, keepdims=True)
    return exponentials


@one_thread()
def train_probe(
    features: RowBlocks, labels: Int64, n_classes: int, settings: ScoringSettings
) -> ProbeTrajectory:
    """Train the probe on every row and keep T checkpoints of it.

    θ_0 is zero: the problem is convex, so no symmetry needs breaking, and a random start would put
    pure noise into the first column of the influence matrix.

    >>> from take.rows.blocks import ArrayBlocks
    >>> features = ArrayBlocks(np.eye(4, dtype=np.float32))
    >>> settings = ScoringSettings(checkpoints=3, epochs=50, batch_size=4)
    >>> probe = train_probe(features, np.array([0, 0, 1, 1]), 2, settings)
    >>> probe.weights.shape, float(probe.train_accuracy[-1])
    ((3, 2, 4), 1.0)
    """
    validation = _validation_rows(features.shape[0], settings)
    steps, weights, biases = _train_probes(features, labels, n_classes, validation, settings)
    train = _evaluate(features, labels, np.ones_like(validation), weights[:, 0], biases[:, 0])
    second = _evaluate(features, labels, validation, weights[:, 1], biases[:, 1])
    return ProbeTrajectory(
        weights=np.ascontiguousarray(weights[:, 0]),
        biases=np.ascontiguousarray(biases[:, 0]),
        steps=steps,
        train_loss=train[0],
        train_accuracy=train[1],
        validation_rows=np.flatnonzero(validation),
        validation_loss=second[0],
        validation_accuracy=second[1],
    )


class _Checkpoints(NamedTuple):
    steps: Int64  # (T,)
    weights: Float32  # (T, N_PROBES, C, d)
    biases: Float32  # (T, N_PROBES, C)


def _train_probes(
    features: RowBlocks,
    labels: Int64,
    n_classes: int,
    validation: Bools,
    settings: ScoringSettings,
) -> _Checkpoints:
    """Train both probes on the same batches; the second one's loss skips the validation rows."""
    n_rows, n_features = features.shape
    batch_size = _batch_size(n_rows, settings)
    updates = max(1, round(settings.epochs * n_rows / batch_size))
    steps = checkpoint_steps(settings.schedule, settings.checkpoints, updates)
    trained_on = np.ones((n_rows, N_PROBES), dtype=np.float32)
    trained_on[validation, 1] = 0

    # AdamW works number by number, so two heads stacked as one train as they would apart.
    W = np.zeros((N_PROBES * n_classes, n_features), dtype=np.float32)
    b = np.zeros(N_PROBES * n_classes, dtype=np.float32)
    weight_step = _AdamW(W, settings.learning_rate, settings.weight_decay)
    bias_step = _AdamW(b, settings.learning_rate, weight_decay=0.0)  # nothing to shrink to
    one_hot = np.eye(n_classes, dtype=np.float32)
    kept_weights, kept_biases = [W.copy()], [b.copy()]
    keep_after = set(steps.tolist())
    batches = shuffled_batches(features, batch_size, updates, settings.seed)
    for step, (rows, block) in enumerate(batches, start=1):
        logits = (block @ W.T + b).reshape(batch_size, N_PROBES, n_classes)
        residual = softmax(logits) - one_hot[labels[rows]][:, None, :]
        counts = trained_on[rows]
        residual *= (counts / np.maximum(counts.sum(axis=0), 1))[:, :, None]
        gradient: Float32 = residual.reshape(batch_size, -1)
        weight_step.update(gradient.T @ block)
        bias_step.update(gradient.sum(axis=0, dtype=np.float32))
        if step in keep_after:
            kept_weights.append(W.copy())
            kept_biases.append(b.copy())
    shape = (settings.checkpoints, N_PROBES, n_classes)
    return _Checkpoints(
        steps,
        np.stack(kept_weights).reshape(*shape, n_features),
        np.stack(kept_biases).reshape(shape),
    )


def _batch_size(n_rows: int, settings: ScoringSettings) -> int:
    """The batch size of the settings, or less: a small corpus, too, needs enough updates."""
    wanted_updates = UPDATES_BETWEEN_CHECKPOINTS * (settings.checkpoints - 1)
    return max(1, min(settings.batch_size, n_rows, settings.epochs * n_rows // wanted_updates))


def _validation_rows(n_rows: int, settings: ScoringSettings) -> Bools:
    count = max(1, round(settings.validation_share * n_rows))
    # A stream of its own, so that these rows do not change with how batches are drawn.
    random = rng(settings.seed, "probe validation rows")
    chosen = np.zeros(n_rows, dtype=np.bool_)
    chosen[random.choice(n_rows, size=count, replace=False)] = True
    return chosen


def _evaluate(
    features: RowBlocks,
    labels: Int64,
    chosen: Bools,
    weights: Float32,
    biases: Float32,
) -> Float64:
    """Mean loss and accuracy of each checkpoint on the chosen rows, as an array (2, T)."""
    T, C, n_features = weights.shape
    stacked = np.ascontiguousarray(weights.reshape(T * C, n_features).T)

    def sums(start: int, block: Float32, labels: Int64, inside: Bools) -> Float64:
        y = labels[inside]
        logits = (block[inside] @ stacked).reshape(len(y), T, C) + biases
        p_label = np.take_along_axis(softmax(logits), y[:, None, None], axis=2)[:, :, 0]
        right = logits.argmax(axis=2) == y[:, None]
        # A probability that rounds to zero has a large loss, not an infinite one.
        loss = -np.log(np.maximum(p_label, np.finfo(np.float32).tiny))
        return np.stack([loss.sum(axis=0, dtype=np.float64), right.sum(axis=0, dtype=np.float64)])

    total = np.zeros((2, T))
    for part in compute_blocks(sums, features, labels, chosen):
        total += part
    return total / max(1, int(chosen.sum()))


class Batch(NamedTuple):
    """Some rows of the corpus: their numbers and their features."""

    rows: Int64
    features: Float32


def _windows(features: RowBlocks, random: np.random.Generator) -> Iterator[Batch]:
    """One epoch: every row once, in shuffled windows of chunks that were drawn at random."""
    n_rows = features.shape[0]
    chunk_starts = random.permutation(np.arange(0, n_rows, CHUNK_ROWS))
    for first in range(0, len(chunk_starts), WINDOW_CHUNKS):
        bounds = [
            (int(start), min(int(start) + CHUNK_ROWS, n_rows))
            for start in chunk_starts[first : first + WINDOW_CHUNKS]
        ]
        rows = np.concatenate([np.arange(start, stop) for start, stop in bounds])
        block = np.concatenate([features.read(start, stop) for start, stop in bounds])
        order = random.permutation(len(rows))
        yield Batch(rows[order], block[order])


def shuffled_batches(
    features: RowBlocks, batch_size: int, n_batches: int, seed: int
) -> Iterator[Batch]:
    """`n_batches` batches of exactly `batch_size` rows, epoch after epoch.

    Rows left over from one window open the next batch, so that no batch is short.

    >>> from take.rows.blocks import ArrayBlocks
    >>> features = ArrayBlocks(np.eye(4, dtype=np.float32))
    >>> two = list(shuffled_batches(features, batch_size=2, n_batches=2, seed=0))
    >>> sorted(int(row) for batch in two for row in batch.rows)
    [0, 1, 2, 3]
    """
    random = rng(seed, "probe batches")
    left = Batch(np.empty(0, np.int64), np.empty((0, features.shape[1]), np.float32))
    sent = 0
    while True:
        for window in _windows(features, random):
            rows = np.concatenate([left.rows, window.rows])
            block = np.concatenate([left.features, window.features])
            whole = len(rows) - len(rows) % batch_size
            for start in range(0, whole, batch_size):
                if sent == n_batches:
                    return
                stop = start + batch_size
                yield Batch(rows[start:stop], block[start:stop])
                sent += 1
            left = Batch(rows[whole:], block[whole:])
        if sent == n_batches:
            return
