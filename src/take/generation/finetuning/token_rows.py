"""Rows as token ids: what fine-tuning, the audit's attacks and perplexities read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from take.generation.finetuning.fine_tuning_report import RowCounts
from take.rows.arrays import Int64


@dataclass(frozen=True)
class Rows:
    """Tokenised rows."""

    token_ids: tuple[tuple[int, ...], ...]
    """Prompt, text and end token of each row."""
    prompt_lengths: Int64
    """How many tokens of a row are the prompt, which is given, not learned."""
    positions: Int64
    """The position of each row in the corpus."""
    given: Int64 | None = None
    """(rows, 2): from where to where further tokens are given, not learned: a pair's label."""

    def part(self, indices: Sequence[int] | Int64) -> Rows:
        """Some of the rows."""
        chosen = np.asarray(indices, dtype=np.int64)
        return Rows(
            tuple(self.token_ids[index] for index in chosen),
            self.prompt_lengths[chosen],
            self.positions[chosen],
            None if self.given is None else self.given[chosen],
        )

    def joined(self, others: Rows) -> Rows:
        """These rows, then the others."""
        given = None
        if self.given is not None and others.given is not None:
            given = np.concatenate([self.given, others.given])
        return Rows(
            (*self.token_ids, *others.token_ids),
            np.concatenate([self.prompt_lengths, others.prompt_lengths]),
            np.concatenate([self.positions, others.positions]),
            given,
        )

    def __len__(self) -> int:
        return len(self.token_ids)

    @property
    def lengths(self) -> Int64:
        """Tokens of each row."""
        return np.array([len(ids) for ids in self.token_ids], dtype=np.int64)


@dataclass(frozen=True)
class TrainingRows:
    """The rows to train on and the rows to measure the validation loss on."""

    train: Rows
    validation: Rows
    counts: RowCounts
    related: Int64
    """Positions of rows that cannot be trained on: relatives of validation rows, common phrases."""
    other_lengths: Int64
    """Positions of rows that are shorter or longer than rows that are trained on may be."""
