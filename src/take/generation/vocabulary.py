"""The part of a language model's vocabulary that a corpus uses.

The head of a small model is a large part of it: 49,152 tokens for SmolLM2, 262,144 for Gemma. A
corpus uses some thousands of them. With the other rows of embeddings and head left out, the model
gives the same logits for the tokens that are kept, hence the same distribution given that the next
token is one of them,

    p(v | v ∈ kept) = p(v) / Σ_{u ∈ kept} p(u),

and a fraction of the work. The adapter trains no embeddings, so it fits the whole model, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from take.generation.finetuning.fine_tuning_settings import FineTuningSettings
from take.generation.finetuning.token_rows import Rows
from take.generation.template import Template
from take.rows.arrays import Int64
from take.rows.blocks import block_bounds
from take.rows.labelled import text_columns

_BLOCK_ROWS = 4096


@dataclass(frozen=True)
class Vocabulary:
    """Which tokens are kept; a kept token's new id is its place among them.

    >>> some = Vocabulary(np.array([2, 5, 9]))
    >>> some.compact([9, 2]), some.original([2, 0])
    ((2, 0), (9, 2))
    """

    ids: Int64 | None
    """Ascending; None: all of them."""

    @classmethod
    def of(
        cls, columns: Sequence[Sequence[str]], template: Template, others: Sequence[Rows] = ()
    ) -> Vocabulary:
        """The tokens of all texts and prompts, and of rows that are not from the corpus."""
        used = {template.end_id, *(token for prompt in template.prompts for token in prompt)}
        used.update(chain.from_iterable(_encoded(columns, template)))
        for rows in others:
            used.update(chain.from_iterable(rows.token_ids))
        return cls(np.array(sorted(used), dtype=np.int64))

    def compact(self, token_ids: Iterable[int]) -> tuple[int, ...]:
        """The new ids of kept tokens."""
        if self.ids is None:
            return tuple(token_ids)
        given = np.fromiter(token_ids, dtype=np.int64)
        places = np.searchsorted(self.ids, given)
        if len(given) and not np.array_equal(self.ids[np.minimum(places, len(self) - 1)], given):
            raise ValueError("a token is not in the vocabulary")
        return tuple(places.tolist())

    def original(self, compact_ids: Iterable[int]) -> tuple[int, ...]:
        """The model's own ids."""
        if self.ids is None:
            return tuple(compact_ids)
        return tuple(self.ids[np.fromiter(compact_ids, dtype=np.int64)].tolist())

    def kept_of(self, token_ids: Iterable[int]) -> list[int]:
        """Those of the tokens that are kept."""
        found = list(token_ids)
        if self.ids is None:
            return found
        is_kept = np.isin(np.array(found, dtype=np.int64), self.ids)
        return [token for token, kept in zip(found, is_kept, strict=True) if kept]

    def rows(self, rows: Rows) -> Rows:
        """Rows in new ids."""
        if self.ids is None:
            return rows
        return replace(rows, token_ids=tuple(map(self.compact, rows.token_ids)))

    def cut(self, model: Any) -> None:
        """Leave out the other tokens' rows of the model's embeddings and head, in place."""
        import torch

        if self.ids is None:
            return
        chosen = torch.from_numpy(self.ids)
        embeddings, head = model.get_input_embeddings(), model.get_output_embeddings()
        is_tied = head.weight is embeddings.weight
        embeddings.weight = _chosen_rows(embeddings.weight, chosen)
        embeddings.num_embeddings, embeddings.padding_idx = len(self), None
        head.weight = embeddings.weight if is_tied else _chosen_rows(head.weight, chosen)
        if head.bias is not None:
            head.bias = _chosen_rows(head.bias, chosen)
        head.out_features = len(self)
        model.config.vocab_size = len(self)

    def __len__(self) -> int:
        return 0 if self.ids is None else len(self.ids)


WHOLE = Vocabulary(None)


def vocabulary_of(
    corpus: pd.DataFrame,
    template: Template,
    settings: FineTuningSettings,
    others: Sequence[Rows] = (),
) -> Vocabulary:
    """The tokens to train on and to sample from.

    All of them if all weights are trained, since the whole model is then kept, and under privacy,
    since the tokens that a corpus uses are read from rows that ε does not cover.
    """
    if settings.method == "full" or settings.privacy is not None:
        return WHOLE
    return Vocabulary.of(text_columns(corpus), template, others)


def _chosen_rows(weights: Any, chosen: Any) -> Any:
    import torch

    return torch.nn.Parameter(weights.detach()[chosen].clone(), weights.requires_grad)


def _encoded(columns: Sequence[Sequence[str]], template: Template) -> Iterator[list[int]]:
    """The tokens of each row, block by block."""
    for start, stop in block_bounds(len(columns[0]), _BLOCK_ROWS):
        yield from template.encode_all([list(column[start:stop]) for column in columns])
