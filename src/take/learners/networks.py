"""`textcnn` and `textrnn`: small networks on frozen word vectors (Kim 2014; Liu et al. 2016).

A branch turns a text's word vectors E (L × d) into one vector:

    textcnn   u = [max_i relu(F_w · E[i : i+w] + b_w)]  for widths w, 100 filters each
    textrnn   u = pool of the states of a bidirectional GRU

A single text is classified from u, a pair from [u ; v ; |u−v| ; u·v] of one shared branch. The word
vectors are frozen: a few training rows would only move the vectors of their own words.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from take.frozen import Frozen
from take.learners.base import Model, Texts, TrainingRows, check_same_task
from take.learners.convergence import (
    Converged,
    ConvergenceSettings,
    mean_loss,
    run_to_convergence,
)
from take.learners.training import Count, UpdateSettings, padded, run_updates, seeded
from take.learners.word_vectors import WordVectors, WordVectorSettings
from take.rows.arrays import Float64, Int32, Int64

_BATCH_WORDS = 16384  # of a batch of texts to predict, padding included: bounds memory
_WIDTHS = (3, 4, 5)  # of the filters
_DROPOUT = 0.5


class NetworkSettings(Frozen):
    """A small network on frozen word vectors: `textcnn` or `textrnn`."""

    kind: Literal["textcnn", "textrnn"] = "textcnn"
    words: WordVectorSettings = WordVectorSettings()
    filters: Count = 100
    hidden: Count = 128
    """Of the GRU, each direction."""
    pool: Literal["last", "mean", "max"] = "max"
    """How the GRU's states become one vector."""
    training: UpdateSettings = UpdateSettings(learning_rate=1e-3)

    def independent_of(self, encoder: str) -> bool:
        """Whether it sees rows otherwise than a selector does, as word vectors do."""
        return True


@dataclass(frozen=True)
class NetworkLearner:
    """A network with the word vectors that it is given."""

    settings: NetworkSettings
    words: WordVectors

    @property
    def name(self) -> str:
        """Its name in the registry."""
        return self.settings.kind

    @property
    def title(self) -> str:
        """Which network on whose vectors."""
        network = {"textcnn": "TextCNN", "textrnn": "TextRNN (GRU)"}[self.name]
        return f"{network} on frozen {self.words.title}"

    @property
    def identity(self) -> str:
        """A digest of settings and vectors; the path of the vectors' file does not count."""
        settings = self.settings.model_dump_json(exclude={"words": {"source"}})
        return hashlib.sha256((settings + self.words.identity).encode()).hexdigest()

    def fit(self, rows: TrainingRows, seed: int, updates: int | None = None) -> Model:
        """A network trained on these rows from fresh weights."""
        training = self.settings.training
        with seeded(seed):
            model = self._fresh(rows)
            backward = self._backward(model.module, rows)
            run_updates(model.module, backward, len(rows), training, seed, updates)
        return model

    def fit_to_convergence(
        self, rows: TrainingRows, validation: TrainingRows, seed: int, limits: ConvergenceSettings
    ) -> Converged:
        """A network trained until the validation rows' loss falls no more."""
        rows = limits.part(rows, seed)
        with seeded(seed):
            model = self._fresh(rows)
            curve = run_to_convergence(
                model.module,
                self._backward(model.module, rows),
                lambda: mean_loss(model.logits(validation.texts), validation),
                _lengths(self.words.ids(rows.texts)),
                self.settings.training,
                limits,
                seed,
            )
        return Converged(model, curve.losses, len(rows), curve.updates, curve.epochs)

    def _fresh(self, rows: TrainingRows) -> NetworkModel:
        pairs = rows.texts.is_pair
        module = build_network(self.settings, self.words, rows.n_classes, pairs=pairs)
        return NetworkModel(module, self.words, pairs=pairs)

    def _backward(self, module: Any, rows: TrainingRows) -> Callable[[Int64], float]:
        import torch

        columns = self.words.ids(rows.texts)
        labels = torch.from_numpy(rows.labels).long()
        weights = torch.from_numpy(rows.relative_weights).float()

        def backward(batch: Int64) -> float:
            logits = module(*(padded([column[row] for row in batch]) for column in columns))
            losses = torch.nn.functional.cross_entropy(logits, labels[batch], reduction="none")
            loss: Any = (weights[batch] * losses).mean()
            loss.backward()
            return float(loss.detach())

        return backward


class NetworkModel(Model):
    """A trained network."""

    def __init__(self, module: Any, words: WordVectors, *, pairs: bool) -> None:
        self.module, self._words, self._pairs = module, words, pairs

    def logits(self, texts: Texts) -> Float64:
        """Predicted in batches of similar length, so that little is computed on padding."""
        import torch

        check_same_task(texts, pairs=self._pairs)
        columns = self._words.ids(texts)
        parts = []
        with torch.inference_mode():
            for rows in _alike_in_length(columns):
                batch = (padded([column[row] for row in rows]) for column in columns)
                parts.append((rows, self.module(*batch).numpy()))
        if not parts:
            return np.zeros((0, self.module.head.out_features))
        logits = np.empty((len(texts), parts[0][1].shape[1]))
        for rows, of_rows in parts:
            logits[rows] = of_rows
        return logits


def _lengths(columns: Sequence[Sequence[Int32]]) -> Int64:
    longest: Int64 = np.array([[len(ids) for ids in column] for column in columns]).max(axis=0)
    return longest


def _alike_in_length(columns: Sequence[Sequence[Int32]]) -> Iterator[Int64]:
    lengths = _lengths(columns)
    order = np.argsort(lengths, kind="stable")
    start = 0
    while start < len(order):
        stop = start + 1
        while stop < len(order) and (stop + 1 - start) * lengths[order[stop]] <= _BATCH_WORDS:
            stop += 1
        yield order[start:stop]
        start = stop


def build_network(
    settings: NetworkSettings, words: WordVectors, n_classes: int, *, pairs: bool
) -> Any:
    """A torch module: a matrix of ids per column → logits."""
    import torch

    from take.learners.network_modules import ConvolutionBranch, Network, RecurrentBranch

    width = words.matrix.shape[1]
    if settings.kind == "textcnn":
        branch: Any = ConvolutionBranch(width, settings.filters, _WIDTHS)
    else:
        branch = RecurrentBranch(width, settings.hidden, settings.pool)
    return Network(torch.from_numpy(words.matrix), branch, n_classes, _DROPOUT, pairs)
