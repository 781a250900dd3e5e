"""`textcnn` and `textrnn`: small networks on frozen word vectors (Kim 2014; Liu et al. 2016).

A branch turns a text's word vectors E (L × d) into one vector:

    textcnn   u = [max_i relu(F_w · E[i : i+w] + b_w)]  for widths w, 100 filters each
    textrnn   u = pool of the states of a GRU that reads both ways

A single text is classified from u; a pair from [u ; v ; |u−v| ; u·v] of one branch read twice. The
word vectors stay as they are: of the test's words, a few taught rows would move only their own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from take.learners.base import Model, Taught, Texts, check_asked
from take.learners.settings import NetworkSettings
from take.learners.updates import run_updates, seeded
from take.learners.word_vectors import PADDING, WordVectors
from take.rows.arrays import Float64, Int32, Int64

_ASKED_WORDS = 16384  # of a batch of texts asked, padding included: bounds memory


@dataclass(frozen=True)
class NetworkLearner:
    """A network with the word vectors that it is handed."""

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
        """A digest of settings and vectors; where the vectors' file lies does not matter."""
        settings = self.settings.model_dump_json(exclude={"words": {"source"}})
        return hashlib.sha256((settings + self.words.identity).encode()).hexdigest()

    def teach(self, rows: Taught, seed: int, updates: int | None = None) -> Model:
        """A network trained on these rows from a fresh start."""
        import torch

        columns = self.words.ids(rows.texts)
        labels = torch.from_numpy(rows.labels).long()
        weights = torch.from_numpy(rows.relative_weights).float()
        pairs = rows.texts.is_pair
        with seeded(seed):
            module = build_network(self.settings, self.words, rows.n_classes, pairs=pairs)

            def backward(batch: Int64) -> float:
                logits = module(*(padded([column[row] for row in batch]) for column in columns))
                losses = torch.nn.functional.cross_entropy(logits, labels[batch], reduction="none")
                loss: Any = (weights[batch] * losses).mean()
                loss.backward()
                return float(loss.detach())

            run_updates(module, backward, len(rows), self.settings.training, seed, updates)
        return NetworkModel(module, self.words, pairs=pairs)


class NetworkModel(Model):
    """A trained network."""

    def __init__(self, module: Any, words: WordVectors, *, pairs: bool) -> None:
        self._module, self._words, self._pairs = module, words, pairs

    def logits(self, texts: Texts) -> Float64:
        """Of rows taken by length, so that little is computed on padding."""
        import torch

        check_asked(texts, pairs=self._pairs)
        columns = self._words.ids(texts)
        parts = []
        with torch.inference_mode():
            for rows in _alike_in_length(columns):
                asked = (padded([column[row] for row in rows]) for column in columns)
                parts.append((rows, self._module(*asked).numpy()))
        if not parts:
            return np.zeros((0, self._module.head.out_features))
        logits = np.empty((len(texts), parts[0][1].shape[1]))
        for rows, of_rows in parts:
            logits[rows] = of_rows
        return logits


def _alike_in_length(columns: Sequence[Sequence[Int32]]) -> Iterator[Int64]:
    lengths = np.array([[len(ids) for ids in column] for column in columns]).max(axis=0)
    order = np.argsort(lengths, kind="stable")
    start = 0
    while start < len(order):
        stop = start + 1
        while stop < len(order) and (stop + 1 - start) * lengths[order[stop]] <= _ASKED_WORDS:
            stop += 1
        yield order[start:stop]
        start = stop


def padded(texts: Sequence[Int32]) -> NDArray[np.int64]:
    """Ids of some texts as one matrix.

    >>> padded([np.array([4, 5]), np.array([6])]).tolist()
    [[4, 5], [6, 0]]
    """
    matrix = np.full((len(texts), max(map(len, texts))), PADDING, dtype=np.int64)
    for row, ids in enumerate(texts):
        matrix[row, : len(ids)] = ids
    return matrix


def build_network(
    settings: NetworkSettings, words: WordVectors, n_classes: int, *, pairs: bool
) -> Any:
    """A torch module: a matrix of ids per column → logits."""
    import torch
    from torch import nn

    from take.learners.branches import ConvolutionBranch, RecurrentBranch

    width = words.matrix.shape[1]
    if settings.kind == "textcnn":
        branch: Any = ConvolutionBranch(width, settings.filters, settings.widths)
    else:
        branch = RecurrentBranch(width, settings.hidden, settings.pool)
    vectors = torch.from_numpy(words.matrix)

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.branch = branch
            self.dropout = nn.Dropout(settings.dropout)
            self.head = nn.Linear(branch.width * (4 if pairs else 1), n_classes)

        def forward(self, *columns: NDArray[np.int64]) -> torch.Tensor:
            read = [self._read(torch.from_numpy(ids)) for ids in columns]
            if pairs:
                u, v = read
                read = [u, v, (u - v).abs(), u * v]
            logits: torch.Tensor = self.head(self.dropout(torch.cat(read, dim=1)))
            return logits

        def _read(self, ids: torch.Tensor) -> torch.Tensor:
            lengths = (ids != PADDING).sum(dim=1)
            read: torch.Tensor = self.branch(nn.functional.embedding(ids, vectors), lengths)
            return read

    return Network()
