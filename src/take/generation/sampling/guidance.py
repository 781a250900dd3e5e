"""Label guidance: the label's logits against those of other labels.

    ℓ = ℓ_y + γ ( ℓ_y − mean_{y′ ≠ y} ℓ_{y′} )

as classifier-free guidance (Ho and Salimans 2022) has it, with the other labels instead of no
label. It sharpens what is typical of the label y, at one more pass of the model for each other
label. Tokens that are improbable given y itself (p < α max p) are left out, because there the
difference of two small numbers decides (Li et al. 2023, contrastive decoding).

Rows do not depend on one another. The other labels of a class are a function of the seed alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from take.generation.sampling.decoders import Decoder, filled_up
from take.generation.template import Template
from take.generation.vocabulary import WHOLE, Vocabulary
from take.rows.arrays import Bools, Float32, Int64
from take.rows.random import rng

_ALPHA = 0.02
"""Of the most likely token's probability: tokens below are left out, if γ > 0."""


def rival_labels(label: int, n_classes: int, most: int, seed: int) -> list[int]:
    """The other labels; of many, a few that are drawn once for the class.

    >>> rival_labels(1, 3, most=3, seed=0), len(rival_labels(1, 77, most=3, seed=0))
    ([0, 2], 3)
    """
    others = np.array([other for other in range(n_classes) if other != label], dtype=np.int64)
    if len(others) > most:
        others = np.sort(rng(seed, "rival labels", label).choice(others, most, replace=False))
    return [int(other) for other in others]


class Logits(NamedTuple):
    """Of the next token of each row: given its label, and the mean over other labels."""

    own: Float32
    others: Float32 | None

    def repeated(self, n_rows: int) -> Logits:
        """The logits of one row, for many."""
        others = None if self.others is None else np.repeat(self.others, n_rows, axis=0)
        return Logits(np.repeat(self.own, n_rows, axis=0), others)


class GuidedDecoder:
    """Rows of one class, decoded together with their copies under other labels.

    A row has copies from its label on: the first texts of pairs have none. Without other labels
    (γ = 0) it is the decoder itself.
    """

    def __init__(
        self,
        decoder: Decoder,
        template: Template,
        labels: Sequence[int],
        strength: float = 0.0,
        vocabulary: Vocabulary = WHOLE,
    ) -> None:
        """`labels`: that of the rows, then the others."""
        self.template, self.vocabulary, self.label = template, vocabulary, labels[0]
        self._decoder, self._strength, self._n_others = decoder, strength, len(labels) - 1
        self._prompts = [vocabulary.compact(template.prompt(label)) for label in labels]
        self._between = np.array(
            [vocabulary.compact(template.between(label)) for label in labels], dtype=np.int64
        )
        # Rows of the decoder: those of the class, then the copies under each other label.
        self._n_rows, self._copied = 1, np.zeros(1, dtype=np.bool_)

    @property
    def n_between(self) -> int:
        """Tokens that are given between the texts of a pair."""
        return int(self._between.shape[1])

    def begin(self) -> Logits:
        """The logits (1, V) of the first token."""
        is_pair = self.n_between > 0
        self._n_rows, self._copied = 1, np.array([self._n_others > 0 and not is_pair])
        found = self._decoder.begin(*(self._prompts[:1] if is_pair else self._prompts))
        return self._logits(found)

    def given(self, places: Int64) -> Int64:
        """The tokens at these places between the texts."""
        tokens: Int64 = self._between[0][places]
        return tokens

    def step(self, tokens: Int64, parents: Int64, places: Int64) -> Logits:
        """Append one token to each row; the logits (rows, V) of the next one.

        `places` are those of tokens that are given between two texts, −1 for generated ones.
        """
        was_copied, is_given = self._copied[parents], places >= 0
        copied = (was_copied | is_given) & (self._n_others > 0)
        n_copies, rank = self._copied.sum(), np.cumsum(self._copied) - 1
        all_tokens, all_parents = [tokens], [parents]
        for other in range(self._n_others):
            read = tokens.copy()
            read[is_given] = self._between[other + 1][places[is_given]]
            copy = self._n_rows + other * n_copies + rank[parents]
            all_tokens.append(read[copied])
            all_parents.append(np.where(was_copied, copy, parents)[copied])
        self._n_rows, self._copied = len(tokens), copied
        return self._logits(
            self._decoder.step(
                filled_up(np.concatenate(all_tokens)), filled_up(np.concatenate(all_parents))
            )
        )

    def _logits(self, found: Float32) -> Logits:
        own, n_copies = found[: self._n_rows], int(self._copied.sum())
        if not self._n_others:
            return Logits(own, None)
        others = own.copy()
        if n_copies:
            copies = found[self._n_rows : self._n_rows + self._n_others * n_copies]
            others[self._copied] = copies.reshape(self._n_others, n_copies, -1).mean(axis=0)
        return Logits(own, others)

    def guided(self, logits: Logits, knows_label: Bools) -> Float32:
        """ℓ, with −∞ for improbable tokens; those that may not come are −∞ in ℓ_y before.

        Rows that have not read their label yet, first texts of pairs, are not guided.
        """
        own, others = logits
        if others is None:
            return own
        least = own.max(axis=1, keepdims=True) + np.float32(math.log(_ALPHA))
        guided: Float32 = own + np.float32(self._strength) * (own - others)
        guided[own < least] = -np.inf
        return np.where(knows_label[:, None], guided, own)
