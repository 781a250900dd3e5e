"""What the costs of a run grow with: counts of the corpus, and what the settings make of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from take.corpus.budget import Budget
from take.encoder.cache import string_keys
from take.encoder.embeddings import unique_strings
from take.encoder.encode import Encoder
from take.estimate.rates import KEEP_RATE
from take.generation.finetuning.fine_tuning_settings import FineTuningSettings
from take.generation.quality.evidence import QualitySettings
from take.generation.sampling.rows import SamplingSettings
from take.rows.arrays import Int64
from take.rows.labelled import class_sizes, text_columns
from take.scoring.scoring_settings import ScoringSettings
from take.selection.selection_settings import SelectionSettings

_SAMPLED_STRINGS = 4000
_HOPE = 1.05  # as `fill_pool` has it


@dataclass(frozen=True)
class RunSettings:
    """The settings that decide what a run costs."""

    budget: str | int = 20
    scoring: ScoringSettings = field(default_factory=ScoringSettings)
    fine_tuning: FineTuningSettings = field(default_factory=FineTuningSettings)
    sampling: SamplingSettings = field(default_factory=SamplingSettings)
    quality: QualitySettings = field(default_factory=QualitySettings)
    selection: SelectionSettings = field(default_factory=SelectionSettings)
    sample_rows: int = 1000
    """Corpus rows in the exact distances of the description."""


@dataclass(frozen=True)
class Strings:
    """Unique strings, and those of them that the encoder has not seen yet."""

    unique: int
    missing: int
    tokens: Int64
    """Lengths, for the encoder, of a sample of those missing."""

    @classmethod
    def of(
        cls, columns: Sequence[Sequence[str]], encoder: Encoder, *, anew: bool = False
    ) -> Strings:
        """Count the strings of text columns; nothing is encoded. `anew` counts all as missing."""
        strings, _ = unique_strings(columns)
        missing = np.arange(len(strings))
        if not anew:
            missing = encoder.open_cache().missing(string_keys(strings))
        # Where all are known, their lengths still say what generated rows will be like.
        sample = missing if len(missing) else np.arange(len(strings))
        step = max(1, math.ceil(len(sample) / _SAMPLED_STRINGS))
        token_ids, _ = encoder.tokenizer()([strings[index] for index in sample[::step]])
        tokens = np.array([len(ids) for ids in token_ids], dtype=np.int64)
        return cls(len(strings), len(missing), tokens)


@dataclass(frozen=True)
class CorpusCounts:
    """The corpus in numbers."""

    rows: int
    evaluation_rows: int
    sizes: tuple[int, ...]
    """Rows of each class."""
    texts_per_row: int
    dimension: int
    """d, of φ of one string."""
    words_per_row: float
    text_bytes: int
    """Of the train rows' texts."""
    strings: Strings
    evaluation_strings: Strings

    @property
    def features(self) -> int:
        """Numbers that a row has for the probe."""
        return self.dimension * (1 if self.texts_per_row == 1 else 4)

    @property
    def classes(self) -> int:
        """C."""
        return len(self.sizes)

    @classmethod
    def of(
        cls,
        corpus: pd.DataFrame,
        evaluation_split: pd.DataFrame,
        encoder: Encoder,
        *,
        anew: bool = False,
    ) -> CorpusCounts:
        """Count an ingested corpus; `anew` takes no string for encoded."""
        columns = text_columns(corpus)
        texts = [text for column in columns for text in column]
        words = sum(text.count(" ") + 1 for text in texts)
        return cls(
            rows=len(corpus),
            evaluation_rows=len(evaluation_split),
            sizes=tuple(class_sizes(corpus)),
            texts_per_row=len(columns),
            dimension=encoder.model.dimension,
            words_per_row=words / len(corpus),
            text_bytes=sum(map(len, texts)),
            strings=Strings.of(columns, encoder, anew=anew),
            evaluation_strings=Strings.of(text_columns(evaluation_split), encoder, anew=anew),
        )


@dataclass(frozen=True)
class GenerationCounts:
    """What the language model is going to read and write."""

    trained_rows: int = 0
    update_tokens: Int64 = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """Of each planned update; none where the adapter is there already."""
    held_out_tokens: int = 0
    row_lengths: Int64 = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """Tokens of a sample of corpus rows, the end token aside."""
    longest: int = 0
    """Most tokens of a generated row."""
    rows_on_disk: tuple[int, ...] = ()
    """Of each class, rows that an earlier run has written."""


def rows_by_round(shares: Sequence[int], tries: float) -> list[list[int]]:
    """Rows that each class is asked for, round by round, at the usual rate of kept ones.

    >>> rows_by_round([900, 900], tries=3.0)
    [[900, 105], [900, 105]]
    """
    rounds = []
    for share in shares:
        lacking = math.ceil(share * (1 - KEEP_RATE) / KEEP_RATE * _HOPE)
        rounds.append([share, min(lacking, math.ceil(tries * share) - share)])
    return rounds


def pool_shares(counts: CorpusCounts, sampling: SamplingSettings) -> list[int]:
    """Rows of each class that the pool is to have."""
    return list(Budget.parse(sampling.rows).split(counts.sizes))


def distilled_rows(counts: CorpusCounts, budget: str | int) -> int:
    """K."""
    return sum(Budget.parse(budget).split(counts.sizes))
