"""The torch modules of `textcnn` and `textrnn`: word vectors → one vector per text.

Both give a text the same vector whatever it was padded to. Imports torch: import it late.
"""

from __future__ import annotations

import torch
from torch import nn

from take.errors import InputError


class ConvolutionBranch(nn.Module):
    """max_i relu(F_w · E[i : i+w] + b_w), filters of several widths side by side."""

    def __init__(self, features: int, filters: int, widths: tuple[int, ...]) -> None:
        super().__init__()
        if not widths:
            raise InputError("no filter widths", where="textcnn", allowed="one or more")
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
    """A GRU that reads both ways; its last states, or the mean or maximum of all."""

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
