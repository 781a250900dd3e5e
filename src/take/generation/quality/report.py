"""The quality of a pool: numbers by class, each with its meaning. Holds no text.

Every indicator is also given for real rows, to compare with. They are as many as the pool has,
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
    """How values are distributed over rows."""

    mean: float
    """Mean over rows."""
    p1: float
    """1 % of rows are at or below this."""
    p5: float
    """5 % of rows are at or below this."""
    p50: float
    """Half of the rows are at or below this."""
    p95: float
    """95 % of rows are at or below this."""
    p99: float
    """99 % of rows are at or below this."""
    curve: list[float]
    """The values at or below which 0, 1, 2.5, 5, 7.5, … 99, 100 % of rows are."""

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

    generated: float | None
    """Share of well-formed generated rows, before screening, that repeat no earlier one; 1 means
    that no row was generated twice."""
    kept: float
    """The same share among the rows kept; below 1, screening let duplicates through."""


class Wording(Frozen):
    """How varied the wording of some rows is."""

    distinct_1: float | None
    """Share of words that differ from each other, in samples of equally many tokens."""
    distinct_2: float | None
    """Share of word pairs that differ; far below the corpus, phrases are reused."""
    distinct_3: float | None
    """Share of word triples that differ; far below the corpus, phrases are reused."""
    self_bleu: float | None
    """How much of a row is in other rows word for word (BLEU-4, 0 to 1); far above the corpus, rows
    are made of the same phrases."""


class Diversity(Frozen):
    """Variety of wording, for the pool and for equally many real rows."""

    pool: Wording
    corpus: Wording
    tokens: int
    """Tokens in each of the two samples distinct-n was taken from."""


class Lengths(Frozen):
    """Words per row."""

    pool: Spread
    corpus: Spread
    ks: float
    """Largest gap between the two cumulative shares (Kolmogorov–Smirnov, 0 to 1); 0 means generated
    rows are exactly as long as real ones."""


class Agreement(Frozen):
    """How often the verifier predicts the given label: agreement, not truth.

    A verifier that is right on few real rows says little about generated ones.
    """

    before: float | None
    """Share of the generated rows that passed every other check for which the verifier predicts the
    label of the prompt: how well the language model follows the label."""
    after: float | None
    """Share of the kept rows whose label the verifier predicts, after others were dropped
    or relabelled; partly an effect of that filter."""
    corpus: float | None
    """The same share among real rows that the verifier was not trained on, with the mix of classes
    of the generated rows: the highest to be expected."""


class VerifierQuality(Frozen):
    """What predicted the labels, and how often it is right."""

    name: str
    """Which verifier: probe or cross-encoder."""
    accuracy: float | None
    """Share of held-out train rows whose label it predicts; none where none could be held out."""
    macro_f1: float | None
    """Mean of F₁ over classes on the same rows."""
    held_out_rows: int
    """How many they are."""


class ClosestRecord(Frozen):
    """Distance ‖φ − φ'‖ to the closest row the language model was fine-tuned on."""

    pool: Spread
    real: Spread
    unseen_share: float
    """Share of the compared real rows that the language model was not trained on; the others are
    compared with all training rows but themselves."""
    below_real_p1: float
    """Share of generated rows closer to a training row than 99 % of real rows are; 1 % is chance,
    much more is memorisation."""
    below_real_p5: float
    """Share of generated rows closer to a training row than 95 % of real rows are; 5 % is chance,
    much more is memorisation."""


class Cover(Frozen):
    """r̄ = 1/N Σ_n min_c ‖φ(z_n) − φ(z̃_c)‖: how far corpus rows are from their closest pool row."""

    pool: Spread
    """Over every corpus row, with the whole pool: the paper's r̄."""
    compared: Spread
    """Over the corpus rows not among the real ones, with as many generated rows."""
    real: Spread
    """Over the same corpus rows, with equally many real rows."""
    ratio: float | None = Field(
        description="r̄ of the pool over r̄ of equally many real rows; 1 means the pool covers the "
        f"corpus as well as real rows do, and up to {COVERAGE_BAR} is fine."
    )
    unseen_ratio: float | None
    """The ratio over corpus rows that the language model was not trained on: copies do not lower
    it; none where fewer than 100 such rows are left."""


class Coverage(Frozen):
    """Whether there is a generated row near every corpus row."""

    any_class: Cover
    own_class: Cover
    equivalent_rows: float
    """How many real rows, drawn at random, cover the corpus as well as the compared generated rows
    do (at most as many as those). Distances between texts differ little, so a ratio near 1 can
    still mean that a tenth of the rows would be enough."""
    uncovered_share: float
    """Share of corpus rows whose class the pool has no row of; they have no distance to their own
    class and are left out of its mean."""


class Region(Frozen):
    """One group of corpus rows that the pool covers worst."""

    share: float
    """Share of the corpus in this region."""
    distance: float
    """Mean distance of its rows to the closest generated row."""
    real_distance: float
    """Mean distance to the closest of the compared real rows; if nearly as large, the rows are
    unusual rather than missed by the pool."""


class Mauve(Frozen):
    """MAUVE: whether pool and corpus have the same kinds of rows in the same shares."""

    pool: float
    """MAUVE of pool and real rows (0 to 1); near that of real rows, the pool lacks nothing that the
    corpus has and adds nothing that it lacks, as far as φ shows."""
    corpus: float
    """MAUVE of two disjoint samples of real rows: the highest to be expected."""
    rows: int
    """Rows on each side."""


class Perplexity(Frozen):
    """exp(mean loss per token) under the base language model, before fine-tuning."""

    pool: float
    """Perplexity of generated rows; far above the corpus they are broken, far below they are
    repetitive."""
    corpus: float
    """Perplexity of real rows."""
    pool_rows: int
    """Generated rows read."""
    corpus_rows: int
    """Real rows read."""


class ClassQuality(Frozen):
    """The indicators of one class; none where the pool has too few of its rows."""

    rows: int
    """Rows of this class in the pool."""
    generated: int
    """Rows of this class that were generated."""
    unique_generated: float | None
    """Share of its well-formed generated rows that repeat no earlier one."""
    agreement: Agreement
    words_pool: float | None
    """Mean words per generated row."""
    words_corpus: float
    """Mean words per real row."""
    words_ks: float | None
    """Kolmogorov–Smirnov gap of the two lengths."""
    self_bleu_pool: float | None
    """Self-BLEU of its generated rows."""
    self_bleu_corpus: float | None
    """Self-BLEU of equally many real rows."""
    coverage_pool: float | None
    """r̄ of its corpus rows by its generated rows, at equal size."""
    coverage_real: float | None
    """r̄ by equally many of its real rows."""
    coverage_ratio: float | None
    """The first over the second; 1 is as good."""


class PoolQuality(Frozen):
    """How good a pool of generated rows is, compared with its corpus."""

    rows: int
    """Rows in the pool."""
    generated: int
    """All generated rows, kept or not."""
    outcomes: dict[str, int]
    """What became of the generated rows: kept, or the reason each was dropped for."""
    compared: int
    """Rows of pool and of corpus compared at equal size and mix of classes; fewer than the pool has
    where a class has less than twice as many real rows."""
    uniqueness: Uniqueness
    diversity: Diversity
    words: Lengths
    agreement: Agreement
    verifier: VerifierQuality | None
    """None where it is not known."""
    closest_record: ClosestRecord | None
    """Distance to the closest training row; none if nothing was fine-tuned on."""
    coverage: Coverage
    mauve: Mauve | None
    """None where there are too few rows to compare."""
    perplexity: Perplexity | None
    """None where no language model was given."""
    worst_regions: dict[str, Region]
    classes: dict[str, ClassQuality]

    def summary(self) -> str:
        """The most important figures in one line, those of real rows in brackets."""
        figures = [
            ("r̄", self.coverage.any_class.compared.mean, self.coverage.any_class.real.mean),
            ("distinct-2", self.diversity.pool.distinct_2, self.diversity.corpus.distinct_2),
        ]
        if self.mauve:
            figures.append(("MAUVE", self.mauve.pool, self.mauve.corpus))
        shown = [f"{name} {a:.3f} ({b:.3f})" for name, a, b in figures if a and b]
        return ", ".join(shown)

    def labels_summary(self) -> str:
        """What the verifier says of the labels, and how often it is right."""
        if self.verifier is None or self.agreement.before is None:
            return "labels: not verified"
        known, real = self.verifier.accuracy, self.agreement.corpus
        accuracy = "not measured" if known is None else f"{known:.1%} on held-out train rows"
        line = f"labels: verifier ({self.verifier.name}, {accuracy}) agrees with "
        line += f"{self.agreement.before:.1%} of generated rows"
        return line if real is None else f"{line}, {real:.1%} of real held-out rows"


def meanings(model: type[BaseModel] = PoolQuality) -> dict[str, str]:
    """One sentence on each indicator, by its dotted name in the report; `*` is any class or region.

    >>> meanings()["classes.*.rows"]
    'Rows of this class in the pool.'
    """
    return dict(frozen.meanings(model))
