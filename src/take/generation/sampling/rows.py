"""Rows of one class, written in batches that finished rows leave."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict

from take.generation.sampling.decoders import Decoder
from take.generation.sampling.settings import SamplingSettings
from take.generation.sampling.tokens import chances, choose_tokens
from take.generation.template import Template
from take.rows.arrays import Int64

_ROW_MULTIPLE = 8
"""Batches are filled up to multiples of this: see OpenVinoDecoder."""


class LengthBounds(BaseModel):
    """Fewest and most tokens of a row's text, the end token aside."""

    model_config = ConfigDict(frozen=True)

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
    """Lengths in tokens of rows spread evenly over a corpus, the end token aside."""
    chosen = np.unique(np.linspace(0, len(corpus) - 1, sample).astype(np.int64))
    rows = zip(*(corpus[column].to_numpy()[chosen] for column in template.columns), strict=True)
    encoded = [template.encode(texts) for texts in rows]
    # A row cut in mid-sentence or left out as too long is as long as a row may be.
    return [template.max_text_tokens - 1 if ids is None else len(ids) - 1 for ids in encoded]


def write_rows(
    decoder: Decoder,
    template: Template,
    label: int,
    numbers: Sequence[int],
    bounds: LengthBounds,
    settings: SamplingSettings,
    on_step: Callable[[int, int], None] = lambda tokens, rows_done: None,
) -> pd.DataFrame:
    """The rows of a class with these numbers: label, index, raw, finished, tokens.

    A row's text depends on the seed, the class and its number, not on its neighbours.
    """
    rows = np.array(numbers, dtype=np.int64)
    written: Int64 = np.empty((len(rows), 0), dtype=np.int64)
    texts: dict[int, Int64] = {}
    finished: set[int] = set()
    logits = np.repeat(decoder.begin(template.prompt(label)), len(rows), axis=0)
    banned = np.array(sorted(template.special_ids - {template.end_id}), dtype=np.int64)
    banned = banned[banned < logits.shape[1]]  # Gemma's tokenizer has a token its head has not
    parents = np.zeros(len(rows), dtype=np.int64)
    for position in range(bounds.longest + 1):
        logits[:, banned] = -np.inf
        if position < bounds.shortest:
            logits[:, template.end_id] = -np.inf
        chance = chances(settings.seed, label, rows, position)
        tokens = choose_tokens(logits, written, chance, settings)
        written = np.column_stack([written, tokens])
        ended = tokens == template.end_id
        on_step(len(tokens), int(ended.sum()))
        finished.update(rows[ended].tolist())
        for row, ids in zip(rows[ended], written[ended], strict=True):
            texts[int(row)] = ids[:-1]
        rows, written = rows[~ended], written[~ended]
        if not len(rows) or position == bounds.longest:
            break
        going_on = parents[~ended]
        logits = decoder.step(*_filled_up(tokens[~ended], going_on))[: len(going_on)]
        parents = np.arange(len(going_on))
    on_step(0, len(rows))
    texts |= {int(row): ids for row, ids in zip(rows, written, strict=True)}
    return pd.DataFrame(
        {
            "label": np.full(len(numbers), label, dtype=np.int64),
            "index": np.array(numbers, dtype=np.int64),
            "raw": [template.decode(texts[number].tolist()) for number in numbers],
            "finished": [number in finished for number in numbers],
            "tokens": np.array([len(texts[number]) for number in numbers], dtype=np.int64),
        }
    )


def _filled_up(tokens: Int64, parents: Int64) -> tuple[Int64, Int64]:
    """The rows, and repetitions of the first up to the next multiple."""
    missing = -len(tokens) % _ROW_MULTIPLE
    return (
        np.concatenate([tokens, np.repeat(tokens[:1], missing)]),
        np.concatenate([parents, np.repeat(parents[:1], missing)]),
    )
