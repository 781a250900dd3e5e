"""The torch modules of `textcnn` and `textrnn`. Imports torch at once: import this module late."""

from __future__ import annotations

import torch
from torch import nn

from take.learners.word_vectors import PADDING


class ConvolutionBranch(nn.Module):
    """max_i relu(F_w · E[i : i+w] + b_w) for filters of several widths; padding has no effect."""

    def __init__(self, features: int, filters: int, widths: tuple[int, ...]) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList(nn.Conv1d(features, filters, w) for w in widths)
        self.widths = widths
        self.width = filters * len(widths)

    def forward(self, vectors: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """(n, L, d) and the lengths → (n, filters × widths)."""
        lacking = max(0, max(self.widths) - vectors.shape[1])
        channels = nn.functional.pad(vectors, (0, 0, 0, lacking)).transpose(1, 2)
        pooled = []
        for width, convolution in zip(self.widths, self.convolutions, strict=True):
            found = torch.relu(convolution(channels))
            # Windows that begin in the text and end in it; of a short text, the first one.
            # After relu nothing is below 0, so a masked window can never be the largest.
            windows = (lengths - width + 1).clamp(min=1)
            inside = torch.arange(found.shape[2])[None, :] < windows[:, None]
            pooled.append((found * inside[:, None, :]).amax(dim=2))
        return torch.cat(pooled, dim=1)


class RecurrentBranch(nn.Module):
    """A bidirectional GRU: its last states, or their mean or maximum; padding has no effect."""

    def __init__(self, features: int, hidden: int, pool: str) -> None:
        super().__init__()
        self.gru = nn.GRU(features, hidden, batch_first=True, bidirectional=True)
        self.pool = pool
        self.width = 2 * hidden

    def forward(self, vectors: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """(n, L, d) and the lengths → (n, 2 × hidden)."""
        packed = nn.utils.rnn.pack_padded_sequence(
            vectors, lengths.cpu(), batch_first=True, enforce_sorted=False
        )
        states, last = self.gru(packed)
        if self.pool == "last":
            return torch.cat([last[0], last[1]], dim=1)
        filler = float("-inf") if self.pool == "max" else 0.0
        spread, _ = nn.utils.rnn.pad_packed_sequence(states, batch_first=True, padding_value=filler)
        if self.pool == "max":
            return spread.amax(dim=1)
        return spread.sum(dim=1) / lengths[:, None]


class Network(nn.Module):
    """Frozen word vectors, a branch and a linear head: a matrix of ids per column → logits."""

    def __init__(
        self,
        vectors: torch.Tensor,
        branch: ConvolutionBranch | RecurrentBranch,
        n_classes: int,
        dropout: float,
        pairs: bool,
    ) -> None:
        super().__init__()
        self.branch, self._vectors, self._pairs = branch, vectors, pairs
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(branch.width * (4 if pairs else 1), n_classes)

    def forward(self, *columns: torch.Tensor) -> torch.Tensor:
        """(n, L) ids of each column → (n, C)."""
        read = [self._read(ids) for ids in columns]
        if self._pairs:
            u, v = read
            read = [u, v, (u - v).abs(), u * v]
        logits: torch.Tensor = self.head(self.dropout(torch.cat(read, dim=1)))
        return logits

    def _read(self, ids: torch.Tensor) -> torch.Tensor:
        lengths = (ids != PADDING).sum(dim=1)
        read: torch.Tensor = self.branch(nn.functional.embedding(ids, self._vectors), lengths)
        return read
