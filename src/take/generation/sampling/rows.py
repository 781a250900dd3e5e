"""Rows of one class, sampled token by token in batches that finished rows leave.

The next token is chosen by temperature, top-k, top-p and repetition penalty. Each random number is
a function of the seed, the class, the row's number and the position only, so a row does not depend
on the rows it shares a batch with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from pydantic import Field

from take.frozen import Frozen, Quantiles
from take.generation.sampling.decoders import DecoderName
from take.generation.sampling.guidance import GuidedDecoder
from take.generation.template import Template
from take.rows.arrays import Float32, Float64, Int64
from take.rows.random import mixed

_FIRST_LOOK = 256
"""The most likely tokens nearly always hold all of top-p; where they do not, all are sorted."""


class SamplingSettings(Frozen):
    """`sampling` within `params:generation`.

    >>> SamplingSettings(temperature=0.8).temperature
    0.8
    """

    rows: int = Field(default=5000, ge=1, le=10_000_000)
    """M, rows to keep, even over classes."""
    tries: float = Field(default=3.0, ge=1, le=100)
    """Rows generated per row wanted, at most, in a class."""
    seed: int = Field(default=0, ge=0, lt=2**32)

    temperature: float = Field(default=1.0, gt=0, le=5)
    top_p: float = Field(default=0.95, gt=0, le=1)
    """1 keeps the whole tail."""
    top_k: int | None = Field(default=200, ge=1)
    """Most likely tokens to choose from; none: all."""
    repetition_penalty: float = Field(default=1.0, ge=1, le=5)
    """A token already written is this much less likely."""
    guidance: float | None = Field(default=None, ge=0, le=10)
    """γ: how much the label's logits count against the other labels'; 0: not at all. None: 0.5, and
    1 for pairs, of which only the second text is guided."""
    rivals: int = Field(default=3, ge=1, le=100)
    """Other labels in the guidance, at most: each costs one more pass of the model."""
    length_quantiles: Quantiles = (0.005, 0.995)
    """Of the corpus's lengths in tokens: shortest, longest."""

    decoder: DecoderName = "openvino_int8"
    batch_rows: int = Field(default=256, ge=8, le=4096, multiple_of=8)
    """Rows written at once."""

    def strength(self, *, pairs: bool) -> float:
        """γ of a task.

        >>> SamplingSettings().strength(pairs=True)
        1.0
        >>> SamplingSettings(guidance=0).strength(pairs=True)
        0.0
        """
        if self.guidance is not None:
            return self.guidance
        return 1.0 if pairs else 0.5


class RowNumbers(NamedTuple):
    """Rows start … stop−1 of a class."""

    label: int
    start: int
    stop: int


class LengthBounds(Frozen):
    """Fewest and most tokens of a row's text, without the end token."""

    shortest: int
    longest: int

    @classmethod
    def of(cls, lengths: Sequence[int], quantiles: tuple[float, float]) -> LengthBounds:
        """Bounds learned from a corpus's lengths.

        >>> LengthBounds.of([3, 4, 5, 40], (0.0, 1.0))
        LengthBounds(shortest=3, longest=40)
        """
        low, high = np.quantile(lengths, quantiles, method="inverted_cdf")
        return cls(shortest=max(1, int(low)), longest=max(1, int(high)))


def corpus_lengths(corpus: pd.DataFrame, template: Template, sample: int = 4000) -> list[int]:
    """Lengths in tokens of rows spread evenly over a corpus, without the end token."""
    chosen = np.unique(np.linspace(0, len(corpus) - 1, sample).astype(np.int64))
    rows = zip(*(corpus[column].to_numpy()[chosen] for column in template.columns), strict=True)
    encoded = [template.encode(texts) for texts in rows]
    # A row cut in mid-sentence or left out as too long is as long as a row may be.
    return [template.max_text_tokens - 1 if ids is None else len(ids) - 1 for ids in encoded]


def write_rows(
    decoder: GuidedDecoder,
    numbers: Sequence[int],
    bounds: LengthBounds,
    settings: SamplingSettings,
    on_step: Callable[[int, int], None] = lambda tokens, rows_done: None,
) -> pd.DataFrame:
    """The rows of the decoder's class with these numbers: label, index, raw, finished, tokens.

    The text of a row depends on the seed, the class and its number, not on its batch.
    """
    template, vocabulary, label = decoder.template, decoder.vocabulary, decoder.label
    rows = _Rows(decoder, np.array(numbers, dtype=np.int64))
    last = bounds.longest + decoder.n_between
    for position in range(last + 1):
        logits = rows.allowed(position, bounds)
        chance = chances(settings.seed, label, rows.numbers, position)
        tokens = choose_tokens(logits, rows.written, chance, settings)
        on_step(*rows.append(tokens))
        if not len(rows.numbers) or position == last:
            break
        rows.step()
    on_step(0, len(rows.numbers))
    texts = rows.finished | dict(zip(rows.numbers.tolist(), rows.written, strict=True))
    return pd.DataFrame(
        {
            "label": np.full(len(numbers), label, dtype=np.int64),
            "index": np.array(numbers, dtype=np.int64),
            "raw": [template.written(vocabulary.original(texts[number])) for number in numbers],
            "finished": [number in rows.finished for number in numbers],
            "tokens": np.array(
                [len(texts[number]) - rows.given[number] for number in numbers], dtype=np.int64
            ),
        }
    )


class _Rows:
    """The rows that are being written, and those that are finished."""

    def __init__(self, decoder: GuidedDecoder, numbers: Int64) -> None:
        template, vocabulary = decoder.template, decoder.vocabulary
        self._decoder, self.numbers = decoder, numbers
        self._logits = decoder.begin().repeated(len(numbers))
        self._parents = np.zeros(len(numbers), dtype=np.int64)
        self.written: Int64 = np.empty((len(numbers), 0), dtype=np.int64)
        self.finished: dict[int, Int64] = {}
        (self._end,) = vocabulary.compact([template.end_id])
        banned = vocabulary.compact(vocabulary.kept_of(template.special_ids - {template.end_id}))
        # Gemma's tokenizer has a token its head has not.
        self._banned = [token for token in banned if token < self._logits.own.shape[1]]
        self._pairs = decoder.n_between > 0
        self._break = vocabulary.compact([template.break_id])[0] if self._pairs else -1
        # Of each row: how many tokens between its texts were given, −1 before the line break.
        self._placed = np.full(len(numbers), -1 if self._pairs else 0, dtype=np.int64)
        self.given = dict.fromkeys(numbers.tolist(), 0)

    def allowed(self, position: int, bounds: LengthBounds) -> Float32:
        """The guided logits, −∞ for what may not come next."""
        logits = self._logits.own
        logits[:, self._banned] = -np.inf
        own = position - np.maximum(0, self._placed)
        too_short = own < bounds.shortest
        if self._pairs:
            # One line break; no end before it; a text has at least one token.
            logits[self._placed >= 0, self._break] = -np.inf
            too_short |= (self._placed < 0) | (self.written[:, -1:] == self._break).any(axis=1)
            if position == 0:
                logits[:, self._break] = -np.inf
        logits[too_short, self._end] = -np.inf
        return self._decoder.guided(self._logits, self._placed >= self._decoder.n_between)

    def append(self, tokens: Int64) -> tuple[int, int]:
        """Add a token to each row, the given one where it is given.

        How many tokens were generated, and how many rows ended.
        """
        n_between = self._decoder.n_between
        self._places = np.where(
            self._pairs & (self._placed >= 0) & (self._placed < n_between), self._placed, -1
        )
        is_given = self._places >= 0
        tokens[is_given] = self._decoder.given(self._places[is_given])
        self.written = np.column_stack([self.written, tokens])
        if self._pairs:
            self._placed[is_given] += 1
            self._placed[(self._placed < 0) & (tokens == self._break)] = 0
            for number in self.numbers[is_given]:
                self.given[int(number)] += 1
        ended = (tokens == self._end) & ~is_given
        for number, ids in zip(self.numbers[ended], self.written[ended], strict=True):
            self.finished[int(number)] = ids[:-1]
        going_on = ~ended
        self.numbers, self.written = self.numbers[going_on], self.written[going_on]
        self._parents, self._placed = self._parents[going_on], self._placed[going_on]
        self._places, self._tokens = self._places[going_on], tokens[going_on]
        return int((~is_given).sum()), int(ended.sum())

    def step(self) -> None:
        """Read the tokens that were added."""
        self._logits = self._decoder.step(self._tokens, self._parents, self._places)
        self._parents = np.arange(len(self.numbers))


def chances(seed: int, label: int, rows: Int64, position: int) -> Float64:
    """A random number in [0, 1) for each row at a position: SplitMix64 of all four.

    >>> a = chances(0, 1, np.array([5, 6]), 3)
    >>> bool(a[1] == chances(0, 1, np.array([6]), 3)[0]), bool(a[0] == a[1])
    (True, False)
    """
    state = np.full(len(rows), seed, dtype=np.uint64)
    for part in (np.uint64(label), rows.astype(np.uint64), np.uint64(position)):
        state = mixed(state ^ mixed(np.atleast_1d(part)))
    return (state >> np.uint64(11)).astype(np.float64) * 2.0**-53


def choose_tokens(
    logits: Float32, written: Int64, chance: Float64, settings: SamplingSettings
) -> Int64:
    """The next token of each row, where the distribution function reaches its random number.

    `written` holds the tokens of each row so far. Logits of −∞ are never chosen.

    >>> logits = np.array([[0.0, 9.0, 8.9]], dtype=np.float32)
    >>> settings = SamplingSettings(top_k=2, top_p=1.0)
    >>> [int(choose_tokens(logits, np.empty((1, 0), int), np.array([u]), settings)[0])
    ...  for u in (0.1, 0.9)]
    [1, 2]
    """
    logits = _penalised(logits, written, settings.repetition_penalty)
    # As few passes over whole rows as possible: each of 256 rows × 49,000 tokens takes time.
    values, tokens = _most_likely(logits, settings.top_k or _FIRST_LOOK)
    highest = values[:, :1].copy()
    weights = _weights(values, highest, settings.temperature)
    if settings.top_k is not None:
        totals = weights.sum(axis=1, keepdims=True)
    else:
        totals = _weights(logits, highest, settings.temperature).sum(axis=1, keepdims=True)
        short = weights.sum(axis=1) < settings.top_p * totals[:, 0]
        if short.any() and values.shape[1] < logits.shape[1]:
            values, tokens = _most_likely(logits, logits.shape[1])
            weights = _weights(values, highest, settings.temperature)
    shares = weights / totals
    reached = np.cumsum(shares, axis=1)
    # The token that crosses top-p still belongs to the nucleus.
    reached = np.cumsum(np.where(reached - shares < settings.top_p, shares, 0.0), axis=1)
    chosen = (reached <= chance[:, None] * reached[:, -1:]).sum(axis=1)
    picked: Int64 = np.take_along_axis(tokens, chosen[:, None], axis=1)[:, 0]
    return picked


def _penalised(logits: Float32, written: Int64, penalty: float) -> Float32:
    if penalty == 1 or written.shape[1] == 0:
        return logits
    before = np.take_along_axis(logits, written, axis=1)
    after = np.where(before > 0, before / penalty, before * penalty).astype(np.float32)
    penalised = logits.copy()
    np.put_along_axis(penalised, written, after, axis=1)
    return penalised


def _weights(logits: Float32, highest: Float32, temperature: float) -> Float64:
    """e^{(z − max z) / temperature}."""
    weights: Float64 = np.exp((logits - highest).astype(np.float64) / temperature)
    return weights


def _most_likely(logits: Float32, count: int) -> tuple[Float32, Int64]:
    """The highest logits of each row, highest first, and their tokens."""
    import torch

    top = torch.from_numpy(logits).topk(min(count, logits.shape[1]), dim=1)
    return top.values.numpy(), top.indices.numpy()
