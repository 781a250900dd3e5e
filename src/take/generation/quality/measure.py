"""Measure a pool of generated rows against the corpus it was generated from (METHOD §2, §5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from take.generation.quality.distances import (
    Covered,
    closest_record,
    coverage,
    covered,
    mean_ratio,
    worst_regions,
)
from take.generation.quality.evidence import Matched, PoolEvidence, QualitySettings, match
from take.generation.quality.mauve import mauve
from take.generation.quality.report import (
    Agreement,
    ClassQuality,
    Mauve,
    Perplexity,
    PoolQuality,
    Uniqueness,
    VerifierQuality,
)
from take.generation.quality.wording import Wordings, kolmogorov_smirnov, unique_share
from take.generation.verifier.verifier_settings import TITLES, VerifierReport
from take.rows.arrays import Bools, Float64, Int64
from take.rows.random import rng

LossOfTexts = Callable[[Sequence[str]], Float64]
"""Mean negative log-likelihood per token of each text, under the base language model."""

_FEWEST_MAUVE_ROWS = 20
_EXAMPLES_PER_CLASS = 20
# Reasons of rows that passed every check but, perhaps, that of their label.
_WELL_FORMED = ("", "surplus", "label_contradicted")


class PoolMeasured(NamedTuple):
    """The report, and two tables that hold texts and stay local."""

    report: PoolQuality
    coverage: pd.DataFrame
    """Example rows of the worst covered regions of the corpus, with the closest pool rows."""
    examples: pd.DataFrame
    """Pool rows of each class, drawn at random."""


def measure_pool(
    evidence: PoolEvidence, settings: QualitySettings, loss_of_texts: LossOfTexts | None = None
) -> PoolMeasured:
    """Every indicator of `PoolQuality`, for the pool and for equally many real rows."""
    random = rng(settings.seed, "quality sample")
    matched = match(evidence.pool_labels, evidence.corpus_labels, evidence.seen, random)
    found = covered(evidence, matched, settings)
    regions = worst_regions(evidence, found, settings)
    wording = Wordings(evidence, matched, settings)
    agreement = Agreements(evidence)
    everything = slice(None)
    report = PoolQuality(
        rows=len(evidence.pool),
        generated=len(evidence.judged),
        outcomes=_outcomes(evidence.judged),
        compared=len(matched),
        uniqueness=Uniqueness(
            generated=unique_share(evidence.judged, evidence.text_columns),
            kept=unique_share(evidence.pool, evidence.text_columns) or 0.0,
        ),
        diversity=wording.diversity(),
        words=wording.lengths(),
        agreement=agreement.of(everything, everything),
        verifier=_verifier(evidence.verifier),
        closest_record=closest_record(evidence, matched, settings),
        coverage=coverage(evidence, matched, found, random),
        mauve=_mauve(evidence, matched, settings),
        perplexity=_perplexity(evidence, matched, settings, loss_of_texts),
        worst_regions=regions.report,
        classes={
            name: _class_quality(evidence, label, found, wording, agreement)
            for label, name in evidence.label_names.items()
        },
    )
    return PoolMeasured(report, regions.table, _examples(evidence, random))


def _class_quality(
    evidence: PoolEvidence, label: int, found: Covered, wording: Wordings, agreement: Agreements
) -> ClassQuality:
    of_class = evidence.judged["prompt_label"] == label
    judged = evidence.judged[of_class.to_numpy(dtype=np.bool_)]
    in_pool, in_corpus = evidence.pool_labels == label, evidence.corpus_labels == label
    measured = in_corpus & found.outside
    pool, real, ratio = mean_ratio(
        found.compared.own_class.distance[measured], found.real.own_class.distance[measured]
    )
    pool_words, corpus_words = wording.pool_words[in_pool], wording.corpus_words[in_corpus]
    bleu_pool, bleu_corpus = wording.self_bleu_of_class(label)
    present = len(pool_words) > 0
    return ClassQuality(
        rows=int(in_pool.sum()),
        generated=len(judged),
        unique_generated=unique_share(judged, evidence.text_columns),
        agreement=agreement.of(agreement.before_labels == label, in_pool),
        words_pool=float(pool_words.mean()) if present else None,
        words_corpus=float(corpus_words.mean()),
        words_ks=kolmogorov_smirnov(pool_words, corpus_words) if present else None,
        self_bleu_pool=bleu_pool,
        self_bleu_corpus=bleu_corpus,
        coverage_pool=pool,
        coverage_real=real,
        coverage_ratio=ratio,
    )


class Agreements:
    """Whether the verifier predicts the given label, for well-formed, kept and real rows."""

    def __init__(self, evidence: PoolEvidence) -> None:
        judged = evidence.judged[evidence.judged["reason"].isin(_WELL_FORMED)]
        judged = judged[judged["verifier_label"].notna()]
        self.before_labels = judged["prompt_label"].to_numpy(dtype=np.int64)
        self._before = _agrees(judged["verifier_label"], judged["prompt_label"])
        pool = evidence.pool
        self._verified = pool["verifier_label"].notna().to_numpy(dtype=np.bool_)
        self._after = _agrees(pool["verifier_label"], pool["label"])
        self._verifier = evidence.verifier

    def of(self, before: slice | Bools, after: slice | Bools) -> Agreement:
        """Shares over some rows of each; of real rows with the mix of classes of the first."""
        return Agreement(
            before=_share(self._before[before]),
            after=_share(self._after[after][self._verified[after]]),
            corpus=self._of_real_rows(self.before_labels[before]),
        )

    def _of_real_rows(self, labels: Int64) -> float | None:
        if self._verifier is None or not len(labels):
            return None
        shares = np.bincount(labels, minlength=len(self._verifier.classes)) / len(labels)
        return self._verifier.agreement(shares)


def _agrees(predicted: pd.Series, labels: pd.Series) -> Bools:
    agrees: Bools = (predicted == labels).to_numpy(dtype=np.bool_, na_value=False)
    return agrees


def _verifier(report: VerifierReport | None) -> VerifierQuality | None:
    if report is None:
        return None
    scores = report.scores
    return VerifierQuality(
        name=TITLES[report.kind],
        accuracy=None if scores is None else scores.accuracy,
        macro_f1=None if scores is None else scores.macro_f1,
        held_out_rows=report.held_out_rows,
    )


def _share(values: Bools) -> float | None:
    return float(values.mean()) if len(values) else None


def _outcomes(judged: pd.DataFrame) -> dict[str, int]:
    counts = judged["reason"].replace("", "kept").value_counts()
    return {str(reason): int(count) for reason, count in counts.items()}


def _mauve(evidence: PoolEvidence, matched: Matched, settings: QualitySettings) -> Mauve | None:
    n_rows = min(len(matched), settings.mauve_rows)
    if n_rows < _FEWEST_MAUVE_ROWS:
        return None
    real = evidence.corpus_features(matched.real[:n_rows])
    other = evidence.corpus_features(matched.other[:n_rows])
    pool = evidence.pool_features[matched.pool[:n_rows]]
    return Mauve(
        pool=mauve(pool, real, settings.seed),
        corpus=mauve(other, real, settings.seed),
        rows=n_rows,
    )


def _perplexity(
    evidence: PoolEvidence,
    matched: Matched,
    settings: QualitySettings,
    loss_of_texts: LossOfTexts | None,
) -> Perplexity | None:
    if loss_of_texts is None:
        return None

    def perplexity(frame: pd.DataFrame, rows: Int64) -> tuple[float, int]:
        losses = np.asarray(loss_of_texts(evidence.texts(frame.iloc[rows])), dtype=np.float64)
        if losses.shape != rows.shape:
            raise ValueError(f"loss_of_texts gave {losses.shape} losses for {len(rows)} texts")
        losses = losses[np.isfinite(losses)]  # a text of one token may have none
        return float(np.exp(losses.mean())), len(losses)

    n_rows = min(len(matched), settings.perplexity_rows)
    pool, pool_rows = perplexity(evidence.pool, matched.pool[:n_rows])
    corpus, corpus_rows = perplexity(evidence.corpus, matched.real[:n_rows])
    return Perplexity(pool=pool, corpus=corpus, pool_rows=pool_rows, corpus_rows=corpus_rows)


def _examples(evidence: PoolEvidence, random: np.random.Generator) -> pd.DataFrame:
    drawn = [
        random.permutation(np.flatnonzero(evidence.pool_labels == label))[:_EXAMPLES_PER_CLASS]
        for label in np.unique(evidence.pool_labels)
    ]
    return evidence.pool.iloc[np.concatenate(drawn)].reset_index(drop=True)
