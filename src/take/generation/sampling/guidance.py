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

from take.generation.sampling.decoders import Decoder
from take.generation.template import Template
from take.generation.vocabulary import WHOLE, Vocabulary
from take.rows.arrays import Float32, Int64
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

    def first(self, n_rows: int) -> Logits:
        """Those of the first rows."""
        return Logits(self.own[:n_rows], None if self.others is None else self.others[:n_rows])


class GuidedDecoder:
    """Rows of one class, decoded together with the same rows under other labels.

    Without other labels (γ = 0) it is the decoder itself.
    """

    def __init__(
        self,
        decoders: Sequence[Decoder],
        template: Template,
        labels: Sequence[int],
        strength: float = 0.0,
        vocabulary: Vocabulary = WHOLE,
    ) -> None:
        """`labels`: that of the rows, then the others; one decoder for each."""
        self.template, self.vocabulary, self.label = template, vocabulary, labels[0]
        self._decoders, self._strength = decoders, strength
        self._prompts = [vocabulary.compact(template.prompt(label)) for label in labels]
        self._between = np.array(
            [vocabulary.compact(template.between(label)) for label in labels], dtype=np.int64
        )

    @property
    def n_between(self) -> int:
        """Tokens that are given between the texts of a pair."""
        return int(self._between.shape[1])

    def begin(self) -> Logits:
        """The logits (1, V) of the first token."""
        return _logits(
            [
                decoder.begin(prompt)
                for decoder, prompt in zip(self._decoders, self._prompts, strict=True)
            ]
        )

    def given(self, places: Int64) -> Int64:
        """The tokens at these places between the texts."""
        tokens: Int64 = self._between[0][places]
        return tokens

    def step(self, tokens: Int64, parents: Int64, places: Int64) -> Logits:
        """Append one token to each row; the logits (rows, V) of the next one.

        `places` are those of tokens that are given between two texts, −1 for generated ones.
        """
        is_given = places >= 0
        found = []
        for decoder, between in zip(self._decoders, self._between, strict=True):
            own = tokens.copy()
            own[is_given] = between[places[is_given]]
            found.append(decoder.step(own, parents))
        return _logits(found)

    def guided(self, logits: Logits) -> Float32:
        """ℓ, with −∞ for improbable tokens; those that may not come are −∞ in ℓ_y before."""
        own, others = logits
        if others is None:
            return own
        least = own.max(axis=1, keepdims=True) + np.float32(math.log(_ALPHA))
        guided: Float32 = own + np.float32(self._strength) * (own - others)
        guided[own < least] = -np.inf
        return guided


def _logits(found: Sequence[Float32]) -> Logits:
    own, *others = found
    return Logits(own, np.mean(others, axis=0, dtype=np.float32) if others else None)
