"""What was measured of a pool: numbers and class names only, each with its meaning. Holds no text.

Real rows stand beside generated ones as the yardstick throughout. They are as many as the pool has,
class by class, because nearly every indicator depends on size and on the mix of classes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic import BaseModel, Field

from take import frozen
from take.frozen import Frozen

LEVELS = np.sort([*np.linspace(0, 1, 41), 0.01, 0.99])
COVERAGE_BAR = 1.15


class Spread(Frozen):
    """How values are spread over rows."""

    mean: float = Field(description="Mean over rows.")
    p1: float = Field(description="1 % of rows are at or below this.")
    p5: float = Field(description="5 % of rows are at or below this.")
    p50: float = Field(description="Half of the rows are at or below this.")
    p95: float = Field(description="95 % of rows are at or below this.")
    p99: float = Field(description="99 % of rows are at or below this.")
    curve: list[float] = Field(
        description="The values at or below which 0, 1, 2.5, 5, 7.5, … 99, 100 % of rows are."
    )

    @classmethod
    def of(cls, values: Any) -> Spread:
        """Mean and quantiles of at least one value.

        >>> Spread.of([1, 2, 3]).p50
        2.0
        """
        array = np.asarray(values, dtype=np.float64)
        p1, p5, p50, p95, p99 = np.quantile(array, [0.01, 0.05, 0.5, 0.95, 0.99]).tolist()
        curve = np.quantile(array, LEVELS).tolist()
        mean = float(array.mean())
        return cls(mean=mean, p1=p1, p5=p5, p50=p50, p95=p95, p99=p99, curve=curve)


class Uniqueness(Frozen):
    """Exact duplicates among generated rows, whatever their case, spacing or Unicode form."""

    generated: float | None = Field(
        description="Share of well-formed generated rows, before screening, that repeat no earlier "
        "one; 1 means the language model never wrote a row twice."
    )
    kept: float = Field(
        description="The same share among the rows kept; below 1, screening let duplicates through."
    )


class Wording(Frozen):
    """How varied the wording of some rows is."""

    distinct_1: float | None = Field(
        description="Share of words that differ from each other, in samples of equally many tokens."
    )
    distinct_2: float | None = Field(
        description="Share of word pairs that differ; far below the corpus, phrases are reused."
    )
    distinct_3: float | None = Field(
        description="Share of word triples that differ; far below the corpus, phrases are reused."
    )
    self_bleu: float | None = Field(
        description="How much of a row other rows of its kind already say, word for word (BLEU-4, "
        "0 to 1); far above the corpus, rows are made of the same phrases."
    )


class Diversity(Frozen):
    """Variety of wording, pool against equally many real rows."""

    pool: Wording
    corpus: Wording
    tokens: int = Field(description="Tokens in each of the two samples distinct-n was taken from.")


class Lengths(Frozen):
    """Words per row."""

    pool: Spread
    corpus: Spread
    ks: float = Field(
        description="Largest gap between the two cumulative shares (Kolmogorov–Smirnov, 0 to 1); "
        "0 means generated rows are exactly as long as real ones."
    )


class Agreement(Frozen):
    """Whether a probe trained on the corpus reads the given label off the text."""

    before: float | None = Field(
        description="Share of generated rows that passed every other check and whose label the "
        "probe agrees with: how well the language model obeys the label it was given."
    )
    after: float | None = Field(
        description="The same share among the rows kept, after contradicted rows were dropped; "
        "partly the filter's own doing."
    )
    corpus: float | None = Field(
        description="The same share among real rows: what the probe finds in correct text; it was "
        "trained on them, so a little high."
    )


class ClosestRecord(Frozen):
    """Distance ‖φ − φ'‖ to the closest row the language model was fine-tuned on."""

    pool: Spread
    real: Spread
    unseen_share: float = Field(
        description="Share of the real rows compared that the language model never saw; the others "
        "were seen, and are held against all seen rows but themselves."
    )
    below_real_p1: float = Field(
        description="Share of generated rows closer to a training row than 99 % of real rows are; "
        "1 % is chance, much more is memorising."
    )
    below_real_p5: float = Field(
        description="Share of generated rows closer to a training row than 95 % of real rows are; "
        "5 % is chance, much more is memorising."
    )


class Cover(Frozen):
    """r̄ = 1/N Σ_n min_c ‖φ(z_n) − φ(z̃_c)‖: how far corpus rows are from their closest pool row."""

    pool: Spread = Field(description="Over every corpus row, with the whole pool: the paper's r̄.")
    compared: Spread = Field(
        description="Over the corpus rows not among the real ones, with as many generated rows."
    )
    real: Spread = Field(
        description="Over the same corpus rows, with equally many real rows: the yardstick."
    )
    ratio: float | None = Field(
        description="r̄ of the pool over r̄ of equally many real rows; 1 means the pool covers the "
        f"corpus as well as real rows do, and up to {COVERAGE_BAR} is fine."
    )
    unseen_ratio: float | None = Field(
        description="The ratio over corpus rows the language model never saw: copies of what it "
        "saw do not lower it; none where fewer than 100 such rows are left."
    )


class Coverage(Frozen):
    """Whether there is a generated row near every corpus row."""

    any_class: Cover
    own_class: Cover
    equivalent_rows: float = Field(
        description="So many real rows, drawn at random, cover the corpus as well as the compared "
        "generated rows do (at most as many as those); distances between texts differ little, so "
        "a ratio near 1 can still mean that a tenth of the rows would have done."
    )
    uncovered_share: float = Field(
        description="Share of corpus rows whose class the pool has no row of; they have no "
        "distance to their own class and are left out of its mean."
    )


class Region(Frozen):
    """One group of corpus rows that the pool covers worst."""

    share: float = Field(description="Share of the corpus in this region.")
    distance: float = Field(description="Mean distance of its rows to the closest generated row.")
    real_distance: float = Field(
        description="Mean distance to the closest of the real rows compared; if nearly as large, "
        "the rows are odd rather than forgotten (picked for being far, they fall a little short)."
    )


class Mauve(Frozen):
    """MAUVE: whether pool and corpus have the same kinds of rows in the same shares."""

    pool: float = Field(
        description="MAUVE of pool and real rows (0 to 1): near the yardstick, the pool misses "
        "nothing the corpus has and invents nothing it has not, as far as φ sees."
    )
    corpus: float = Field(
        description="MAUVE of two disjoint samples of real rows: the highest to be expected."
    )
    rows: int = Field(description="Rows on each side.")


class Perplexity(Frozen):
    """How surprised the base language model, not fine-tuned, is per token: exp(mean loss)."""

    pool: float = Field(
        description="Perplexity of generated rows; far above the corpus they are odd or broken, "
        "far below they are bland or repetitive."
    )
    corpus: float = Field(description="Perplexity of real rows.")
    pool_rows: int = Field(description="Generated rows read.")
    corpus_rows: int = Field(description="Real rows read.")


class ClassQuality(Frozen):
    """The indicators that can be told by class; none where the pool has too few rows of it."""

    rows: int = Field(description="Rows of this class in the pool.")
    generated: int = Field(description="Rows of this class that were generated.")
    unique_generated: float | None = Field(
        description="Share of its well-formed generated rows that repeat no earlier one."
    )
    agreement: Agreement
    words_pool: float | None = Field(description="Mean words per generated row.")
    words_corpus: float = Field(description="Mean words per real row.")
    words_ks: float | None = Field(description="Kolmogorov–Smirnov gap of the two lengths.")
    self_bleu_pool: float | None = Field(description="Self-BLEU of its generated rows.")
    self_bleu_corpus: float | None = Field(description="Self-BLEU of equally many real rows.")
    coverage_pool: float | None = Field(
        description="r̄ of its corpus rows by its generated rows, at equal size."
    )
    coverage_real: float | None = Field(description="r̄ by equally many of its real rows.")
    coverage_ratio: float | None = Field(description="The first over the second; 1 is as good.")


class PoolQuality(Frozen):
    """How good a pool of generated rows is against its corpus."""

    rows: int = Field(description="Rows in the pool.")
    generated: int = Field(description="Rows the language model wrote, kept or not.")
    outcomes: dict[str, int] = Field(
        description="What became of the generated rows: kept, or the reason each was dropped for."
    )
    compared: int = Field(
        description="Rows of pool and of corpus compared at equal size and mix of classes; less "
        "than the pool where a class has not twice as many real rows."
    )
    uniqueness: Uniqueness
    diversity: Diversity
    words: Lengths
    agreement: Agreement
    closest_record: ClosestRecord | None = Field(
        description="Distance to the closest training row; none if nothing was fine-tuned on."
    )
    coverage: Coverage
    mauve: Mauve | None = Field(description="None where there are too few rows to compare.")
    perplexity: Perplexity | None = Field(description="None where no language model was given.")
    worst_regions: dict[str, Region]
    classes: dict[str, ClassQuality]

    def summary(self) -> str:
        """The figures to look at first, in one line; what real rows reach stands in brackets."""
        figures = [
            ("probe agrees", self.agreement.before, self.agreement.corpus),
            ("r̄", self.coverage.any_class.compared.mean, self.coverage.any_class.real.mean),
            ("distinct-2", self.diversity.pool.distinct_2, self.diversity.corpus.distinct_2),
        ]
        if self.mauve:
            figures.append(("MAUVE", self.mauve.pool, self.mauve.corpus))
        shown = [f"{name} {a:.3f} ({b:.3f})" for name, a, b in figures if a and b]
        return ", ".join(shown)


def meanings(model: type[BaseModel] = PoolQuality) -> dict[str, str]:
    """One sentence on each indicator, by its dotted name in the report; `*` is any class or region.

    >>> meanings()["classes.*.rows"]
    'Rows of this class in the pool.'
    """
    return dict(frozen.meanings(model))
