"""A run as numbers: what is to be done, and how much of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from take.estimate.counts import (
    CorpusCounts,
    GenerationCounts,
    RunSettings,
    pool_shares,
    rows_by_round,
)
from take.estimate.rates import Curve, Rates, WritingRates
from take.rows.arrays import Float64

_ROW_MULTIPLE = 8  # of the decoder's batches
_CANARY_TOKENS, _ATTACKED_ROWS = 17, 192  # of the audit


@dataclass(frozen=True)
class Job:
    """A run as numbers: what is to be done, and how fast this machine does it."""

    settings: RunSettings
    counts: CorpusCounts
    rates: Rates
    generation: GenerationCounts | None = None
    ingestion_seconds: float | None = None
    """As measured, where ingestion was done for the estimate."""
    encoder_is_loaded: bool = True
    """Whether an earlier node of the run loads the encoder."""

    @property
    def written(self) -> GenerationCounts:
        """What the language model reads and writes."""
        if self.generation is None:
            raise ValueError("the estimate of generation needs its counts")
        return self.generation

    @property
    def writing(self) -> WritingRates:
        """The rates of sampling."""
        if self.rates.writing is None:
            raise ValueError("the estimate of sampling needs its rates")
        return self.rates.writing


def writing_seconds(steps: Curve, lengths: Float64, batches: Sequence[int], longest: int) -> float:
    """Seconds to write batches of so many rows whose lengths are spread like these.

    A batch takes as many steps as its longest row has tokens, and a step takes the longer the
    more rows are still being written.

    >>> steady = Curve((8.0, 16.0), (1.0, 2.0))
    >>> writing_seconds(steady, np.array([3.0]), [8, 16], longest=9)
    9.0
    """
    positions = np.arange(longest)
    going_on = (lengths[:, None] > positions).mean(axis=0)
    seconds = 0.0
    for n_rows in batches:
        any_left = 1 - (1 - going_on) ** n_rows
        left = np.maximum(1, n_rows * going_on / np.maximum(any_left, 1e-9))
        filled = np.ceil(left / _ROW_MULTIPLE) * _ROW_MULTIPLE
        seconds += float((any_left * steps.at(filled)).sum())
    return seconds


def batches_to_write(job: Job) -> list[int]:
    """Rows of each batch, those aside that are on disk."""
    sampling, generation = job.settings.sampling, job.written
    shares = pool_shares(job.counts, sampling)
    on_disk = generation.rows_on_disk or (0,) * len(shares)
    batches = []
    for rounds, had in zip(rows_by_round(shares, sampling.tries), on_disk, strict=True):
        left = had
        for asked in rounds:
            new, left = max(0, asked - left), max(0, left - asked)
            whole, rest = divmod(new, sampling.batch_rows)
            batches += [sampling.batch_rows] * whole + [rest] * (rest > 0)
    return batches


def generated_rows(job: Job) -> int:
    """Rows that will be written or read from disk, in all."""
    sampling = job.settings.sampling
    rounds = rows_by_round(pool_shares(job.counts, sampling), sampling.tries)
    return sum(map(sum, rounds))


def attacked_tokens(job: Job) -> int:
    """Tokens that the audit's attack reads: canaries and corpus rows, before and after tuning."""
    canaries, row_lengths = job.settings.fine_tuning.canaries, job.written.row_lengths
    secrets = canaries.planted + canaries.controls if canaries.planted else 0
    length = float(row_lengths.mean()) if len(row_lengths) else 0.0
    return 2 * int(_CANARY_TOKENS * secrets + _ATTACKED_ROWS * length)


def exam_rows(job: Job) -> int:
    """Training rows that the selector `exam` marks on."""
    exam, unseen = job.settings.selection.exam, job.counts.rows
    if job.generation is not None:
        unseen -= job.generation.trained_rows
    share = exam.exam_rows / (exam.exam_rows + exam.validation_rows)
    return max(0, min(exam.exam_rows, int(unseen * share)))
