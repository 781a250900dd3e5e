"""Training the verifier: a probe, and a cross-encoder where the probe is weak.

Both are measured on the same held-out train rows, and trained on none that is related to one; the
cross-encoder on a part of the probe's rows, because each costs it more (`split`). Agreement
with a verifier that is right on 62 % of real rows says little about generated rows: so its accuracy
goes with every figure that depends on it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, Protocol, cast

import pandas as pd

from take.encoder.embeddings import Embeddings
from take.errors import InputError
from take.generation.verifier.split import VerifierSplit, split_rows
from take.generation.verifier.verifier import (
    CrossEncoder,
    Probe,
    Verifier,
    predicted_labels,
)
from take.generation.verifier.verifier_settings import Scores, VerifierReport, VerifierSettings
from take.learners.base import Texts, TrainingRows
from take.learners.features import WordCounts
from take.learners.linear import LinearLearner, LinearModel, LinearSettings
from take.learners.pretrained import Pretrained
from take.learners.transformer import TransformerLearner, TransformerModel
from take.precision import Precision, resolved
from take.rows.arrays import Float32, Int64
from take.rows.labelled import class_ids, class_names, text_columns
from take.text.copies import CopySettings

_logger = logging.getLogger(__name__)

_FEWEST_HELD_OUT = 100
"""With fewer held-out rows, `auto` keeps the probe: which of two is better would be chance."""


class TrainedVerifier(NamedTuple):
    """A verifier and what is known of it."""

    verifier: Verifier
    report: VerifierReport


class Tuned(NamedTuple):
    """A trained cross-encoder, and how it was trained."""

    verifier: Verifier
    title: str
    epochs: float | None
    precision: Precision


class TuneCrossEncoder(Protocol):
    """Trains a cross-encoder."""

    def __call__(
        self,
        rows: TrainingRows,
        validation: TrainingRows,
        classes: tuple[str, ...],
        settings: VerifierSettings,
    ) -> Tuned:
        """The cross-encoder, trained on `rows` until `validation` gets no better."""
        ...


@dataclass(frozen=True)
class _Corpus:
    """A corpus in the parts of a split."""

    columns: list[list[str]]
    labels: Int64
    classes: tuple[str, ...]
    embeddings: Embeddings
    split: VerifierSplit

    def part(self, rows: Int64) -> TrainingRows:
        texts = Texts.of(*([column[row] for row in rows] for column in self.columns))
        return TrainingRows(texts, self.labels[rows], len(self.classes))

    def scores(self, verifier: Verifier, trained_rows: int, seconds: float) -> Scores:
        """On the held-out rows."""
        rows = self.split.held_out
        texts = self.part(rows).texts
        predicted = predicted_labels(verifier, texts, self.embeddings.subset(rows))
        n_classes = len(self.classes)
        return Scores.of(self.labels[rows], predicted, n_classes, trained_rows, seconds)


def train_verifier(
    corpus: pd.DataFrame,
    embeddings: Embeddings,
    settings: VerifierSettings,
    copies: CopySettings | None = None,
    tune: TuneCrossEncoder | None = None,
) -> TrainedVerifier:
    """Train the verifier that the settings ask for; the same one for the same seed.

    `auto`: the probe, unless it is right on less than `weak_below` of the held-out rows and a
    cross-encoder is right on more of them.
    """
    columns, labels = text_columns(corpus), class_ids(corpus)
    split = split_rows(list(zip(*columns, strict=True)), labels, settings, copies)
    parts = _Corpus(columns, labels, tuple(class_names(corpus)), embeddings, split)
    started = time.perf_counter()
    probe = _fit_probe(parts, settings)
    can_be_tuned = bool(len(split.held_out) and len(split.validation))
    scores = None
    if len(split.held_out):
        scores = parts.scores(probe, len(split.train), _since(started))
    report = VerifierReport(
        kind="probe",
        title="logistic regression on φ",
        trained_rows=len(split.train),
        validation_rows=len(split.validation),
        held_out_rows=len(split.held_out),
        classes=list(parts.classes),
        probe=scores,
    )
    if settings.kind == "probe":
        return _logged(TrainedVerifier(probe, report))
    if settings.kind == "cross_encoder" and not can_be_tuned:
        raise InputError(
            f"{len(labels):,} rows are too few, or too much alike, to hold some out",
            where="generation.verifier",
            remedy="set generation.verifier.kind to probe",
        )
    is_weak = scores is not None and scores.accuracy < settings.weak_below
    is_measurable = can_be_tuned and len(split.held_out) >= _FEWEST_HELD_OUT
    if settings.kind == "auto" and not (is_weak and is_measurable):
        return _logged(TrainedVerifier(probe, report))
    _logger.info(
        "Verifier: %s. Training a cross-encoder (%s) on %s rows.",
        report.summary(),
        settings.model,
        f"{len(split.tuned):,}",
    )
    rows, validation = parts.part(split.tuned), parts.part(split.validation)
    started = time.perf_counter()
    tuned = (tune or tune_cross_encoder)(rows, validation, parts.classes, settings)
    better = parts.scores(tuned.verifier, len(rows), _since(started))
    tried = {"cross_encoder": better, "epochs": tuned.epochs, "precision": tuned.precision}
    report = report.model_copy(update=tried)
    if settings.kind == "auto" and scores is not None and better.accuracy <= scores.accuracy:
        return _logged(TrainedVerifier(probe, report))
    chosen = {"kind": "cross_encoder", "title": tuned.title, "trained_rows": len(rows)}
    return _logged(TrainedVerifier(tuned.verifier, report.model_copy(update=chosen)))


def _logged(trained: TrainedVerifier) -> TrainedVerifier:
    report = trained.report
    _logger.info(
        "Verifier: %s (%s rows; trained on %s).",
        report.summary(),
        f"{report.held_out_rows:,}",
        f"{report.trained_rows:,}",
    )
    return trained


def _since(started: float) -> float:
    return round(time.perf_counter() - started, 2)


class _Known:
    """φ of rows that are embedded already."""

    title, identity = "φ", ""

    def __init__(self, vectors: Mapping[Texts, Float32]) -> None:
        self._vectors = vectors

    def __call__(self, texts: Texts) -> Float32:
        return self._vectors[texts]


def _fit_probe(corpus: _Corpus, settings: VerifierSettings) -> Probe:
    """Logistic regression; the validation rows, where there are any, decide its penalty."""
    split, embeddings = corpus.split, corpus.embeddings
    rows = corpus.part(split.train)
    vectors = {rows.texts: embeddings.subset(split.train).read(0, len(rows))}
    validation = None
    if len(split.validation):
        validation = corpus.part(split.validation)
        known = embeddings.subset(split.validation)
        vectors[validation.texts] = known.read(0, len(validation))
    kind: Literal["lr", "siamese_lr"] = "siamese_lr" if rows.texts.is_pair else "lr"
    learner = LinearLearner(
        LinearSettings(kind=kind, features="phi"), WordCounts(), phi=_Known(vectors)
    )
    if validation is None:
        model = learner.fit(rows, settings.seed)
    else:
        model = learner.fit_to_convergence(rows, validation, settings.seed, settings.limits).model
    return Probe(corpus.classes, *cast(LinearModel, model).coefficients())


def tune_cross_encoder(
    rows: TrainingRows,
    validation: TrainingRows,
    classes: tuple[str, ...],
    settings: VerifierSettings,
) -> Tuned:
    """Fine-tune a transformer as `take.learners` does, until the validation rows get no better."""
    folder = None if settings.language_models is None else Path(settings.language_models)
    pretrained = Pretrained(settings.transformer, folder)
    learner = TransformerLearner(settings.transformer, pretrained)
    converged = learner.fit_to_convergence(rows, validation, settings.seed, settings.limits)
    module = cast(TransformerModel, converged.model).module
    return Tuned(
        CrossEncoder.of(classes, pretrained, module, pairs=rows.texts.is_pair),
        _public(learner.title, settings.model),
        converged.epochs,
        resolved(settings.precision),
    )


def _public(title: str, model: str) -> str:
    """A title without the folders of this machine."""
    return title.replace(model, Path(model).resolve().name) if Path(model).is_dir() else title
