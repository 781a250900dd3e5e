"""`lr` and `siamese_lr`: logistic regression on TF-IDF or φ, solved to its optimum.

    min_{W,b}  ‖W‖²/2 + C Σ_n w_n · −log softmax(W x_n + b)[y_n]

The problem is convex: neither a seed nor a number of updates changes its one solution.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from pydantic import Field

from take.encoder.embeddings import sparse_pairs
from take.errors import InputError
from take.frozen import Frozen
from take.learners.base import Model, Texts, TrainingRows, check_same_task
from take.learners.features import SentenceVectors, Vocabulary, WordCounts
from take.rows.arrays import Float64

_ITERATIONS = 2000  # far more than any corpus here has needed

Features = Callable[[Texts], Any]
"""Texts → (n, d), dense or CSR; pairs are joined as [u ; v ; |u−v| ; u·v]."""


class LinearSettings(Frozen):
    """Logistic regression: `lr` for single texts, `siamese_lr` for pairs."""

    kind: Literal["lr", "siamese_lr"] = "lr"
    features: Literal["tfidf", "phi"] = "tfidf"
    vocabulary: Literal["corpus", "rows"] = "corpus"
    """Words and idf: the full corpus's (as the paper), or those of the training rows alone."""
    inverse_penalty: float = Field(default=1.0, gt=0)
    """C of ‖W‖²/2 + C Σ loss."""


@dataclass(frozen=True)
class LinearLearner:
    """Logistic regression with the vocabulary, or φ, that it is given."""

    settings: LinearSettings
    counts: WordCounts
    corpus: Vocabulary | None = None
    phi: SentenceVectors | None = None

    def __post_init__(self) -> None:
        if self.settings.features == "phi" and self.phi is None:
            raise InputError("features are phi, but no encoder was given", where=self.name)
        if self._needs_corpus and self.corpus is None:
            raise InputError(
                "the vocabulary is the corpus's, but none was given",
                where=self.name,
                remedy="make one with `Vocabulary(counts, texts)`, or set vocabulary to rows",
            )

    @property
    def name(self) -> str:
        """Its name in the registry."""
        return self.settings.kind

    @property
    def title(self) -> str:
        """Its features."""
        of_pairs = " of both texts, joined" if self.name == "siamese_lr" else ""
        if self.settings.features == "phi" and self.phi is not None:
            return f"logistic regression on sentence vectors of {self.phi.title}{of_pairs}"
        whose = "the corpus" if self.settings.vocabulary == "corpus" else "the training rows alone"
        return f"logistic regression on TF-IDF{of_pairs} (words and idf of {whose})"

    @property
    def identity(self) -> str:
        """A digest of the settings and of the vocabulary or encoder that is used."""
        given: Vocabulary | SentenceVectors | None = self.corpus if self._needs_corpus else None
        if self.settings.features == "phi":
            given = self.phi
        source = given.identity if given else ""
        return hashlib.sha256((self.settings.model_dump_json() + source).encode()).hexdigest()

    @property
    def _needs_corpus(self) -> bool:
        return self.settings.features == "tfidf" and self.settings.vocabulary == "corpus"

    def fit(self, rows: TrainingRows, seed: int, updates: int | None = None) -> Model:
        """The optimum for these rows."""
        from sklearn.linear_model import LogisticRegression

        if rows.texts.is_pair is not (self.name == "siamese_lr"):
            other = "siamese_lr" if rows.texts.is_pair else "lr"
            raise InputError(
                f"rows are {'pairs' if rows.texts.is_pair else 'single texts'}",
                where=self.name,
                remedy=f"use {other}",
            )
        features = self._features(rows)
        present = np.unique(rows.labels)
        if len(present) == 1:
            return LinearModel(features, rows, None)
        solver = LogisticRegression(C=self.settings.inverse_penalty, max_iter=_ITERATIONS)
        solver.fit(features(rows.texts), rows.labels, sample_weight=rows.relative_weights)
        return LinearModel(features, rows, solver)

    def _features(self, rows: TrainingRows) -> Features:
        if self.settings.features == "phi" and self.phi is not None:
            return self.phi
        vocabulary = self.corpus if self.settings.vocabulary == "corpus" else None
        chosen = vocabulary or Vocabulary(self.counts, rows.texts)

        def tfidf(texts: Texts) -> Any:
            columns = chosen(texts)
            return sparse_pairs(*columns) if texts.is_pair else columns[0]

        return tfidf


class LinearModel(Model):
    """A trained logistic regression; of one class, if its rows had only one."""

    def __init__(self, features: Features, rows: TrainingRows, solver: Any) -> None:
        self._features, self._solver, self._pairs = features, solver, rows.texts.is_pair
        self._present, self._n_classes = np.unique(rows.labels), rows.n_classes

    def logits(self, texts: Texts) -> Float64:
        """W x + b of the classes that it was trained on."""
        check_same_task(texts, pairs=self._pairs)
        logits = np.full((len(texts), self._n_classes), -np.inf)
        if self._solver is None or not len(texts):
            logits[:, self._present] = 0.0
            return logits
        scores = self._solver.decision_function(self._features(texts))
        if scores.ndim == 1:  # two classes: the second's lead over the first
            scores = np.stack([-scores / 2, scores / 2], axis=1)
        logits[:, self._present] = scores
        return logits
