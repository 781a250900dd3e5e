"""Everything a user may set about measuring a pool, with bounds."""

from __future__ import annotations

from pydantic import Field

from take.frozen import Frozen


class QualitySettings(Frozen):
    """`quality` inside the parameters of generation.

    >>> QualitySettings(mauve_rows=500).mauve_rows
    500
    """

    seed: int = Field(default=0, ge=0, lt=2**32)
    block_rows: int = Field(
        default=2048, ge=1, le=1_000_000, description="corpus rows in memory at a time"
    )
    distinct_tokens: int = Field(
        default=20_000,
        ge=10,
        le=10_000_000,
        description="tokens in the samples that distinct-n compares",
    )
    bleu_hypotheses: int = Field(
        default=200, ge=1, le=100_000, description="rows self-BLEU is the mean of"
    )
    bleu_references: int = Field(
        default=500, ge=1, le=100_000, description="other rows each of them is held against"
    )
    perplexity_rows: int = Field(
        default=128, ge=1, le=100_000, description="rows of pool and of corpus the base LM reads"
    )
    mauve_rows: int = Field(
        default=2000, ge=20, le=50_000, description="rows of pool and of corpus MAUVE compares"
    )
    worst_share: float = Field(
        default=0.05, gt=0, le=1, description="share of the corpus, worst covered, put into regions"
    )
    worst_regions: int = Field(default=5, ge=1, le=100)
    rows_per_region: int = Field(
        default=3, ge=1, le=100, description="corpus rows shown of each region"
    )
    examples_per_class: int = Field(default=20, ge=1, le=10_000)
