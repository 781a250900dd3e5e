"""`lr` and `siamese_lr`: logistic regression on TF-IDF, character n-grams or φ, solved exactly.

    min_{W,b}  ‖W‖²/2 + C Σ_n w_n · −log softmax(W x_n + b)[y_n]

The problem is convex: neither a seed nor a number of updates changes its one solution.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from pydantic import Field

from take.encoder.embeddings import sparse_pairs
from take.errors import InputError
from take.frozen import Frozen
from take.learners.base import Model, OneClass, Texts, TrainingRows, check_same_task
from take.learners.convergence import Converged, ConvergenceSettings, mean_loss
from take.learners.features import CHARACTERS, TextVectors, Vocabulary, WordCounts
from take.rows.arrays import Float64

_ITERATIONS = 2000  # far more than any corpus here has needed
_INVERSE_PENALTIES = tuple(10 ** (step / 2) for step in range(-4, 7))  # 0.01 … 1,000

Features = Callable[[Texts], Any]
"""Texts → (n, d), dense or CSR; pairs are joined as [u ; v ; |u−v| ; u·v]."""


class LinearSettings(Frozen):
    """Logistic regression: `lr` for single texts, `siamese_lr` for pairs."""

    kind: Literal["lr", "siamese_lr"] = "lr"
    features: Literal["tfidf", "characters", "phi"] = "tfidf"
    vocabulary: Literal["corpus", "rows"] = "corpus"
    """Words and idf: the full corpus's (as the paper), or those of the training rows alone. Of
    character n-grams, always the latter."""
    inverse_penalty: float = Field(default=1.0, gt=0)
    """C of ‖W‖²/2 + C Σ loss."""

    def independent_of(self, encoder: str) -> bool:
        """Whether it sees rows otherwise than a selector does: not by words or φ."""
        return self.features == "characters"


@dataclass(frozen=True)
class LinearLearner:
    """Logistic regression with the vocabulary, or φ, that it is given."""

    settings: LinearSettings
    counts: WordCounts  # of words, or of character n-grams
    corpus: Vocabulary | None = None
    phi: TextVectors | None = None

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
        if self.settings.features == "characters":
            shortest, longest = CHARACTERS
            return (
                f"logistic regression on n-grams of {shortest} to {longest} characters{of_pairs} "
                "(n-grams and idf of the training rows alone)"
            )
        whose = "the corpus" if self.settings.vocabulary == "corpus" else "the training rows alone"
        return f"logistic regression on TF-IDF{of_pairs} (words and idf of {whose})"

    @property
    def identity(self) -> str:
        """A digest of the settings and of the vocabulary or encoder that is used."""
        given: Vocabulary | TextVectors | None = self.corpus if self._needs_corpus else None
        if self.settings.features == "phi":
            given = self.phi
        source = given.identity if given else ""
        return hashlib.sha256((self.settings.model_dump_json() + source).encode()).hexdigest()

    @property
    def _needs_corpus(self) -> bool:
        return self.settings.features == "tfidf" and self.settings.vocabulary == "corpus"

    def fit(self, rows: TrainingRows, seed: int, updates: int | None = None) -> Model:
        """The optimum for these rows."""
        features = self._features(rows)
        if rows.is_one_class:
            return OneClass(rows)
        solver = _solver()
        _solve(solver, features(rows.texts), rows, self.settings.inverse_penalty)
        return LinearModel(features, rows, solver)

    def fit_to_convergence(
        self, rows: TrainingRows, validation: TrainingRows, seed: int, limits: ConvergenceSettings
    ) -> Converged:
        """The optimum for the penalty that suits the validation rows best.

        C rises until their loss does; the curve has the loss at each C.
        """
        rows = limits.part(rows, seed)
        features = self._features(rows)
        if rows.is_one_class:
            only = OneClass(rows)
            return Converged(
                only, (mean_loss(only.logits(validation.texts), validation),), len(rows)
            )
        given, solver = features(rows.texts), _solver()
        losses: list[float] = []
        best = LinearModel(features, rows, solver)
        for penalty in _INVERSE_PENALTIES:
            _solve(solver, given, rows, penalty)
            model = LinearModel(features, rows, copy.deepcopy(solver))
            losses.append(mean_loss(model.logits(validation.texts), validation))
            if losses[-1] > min(losses):
                break
            best = model
        return Converged(best, tuple(losses), len(rows))

    def _features(self, rows: TrainingRows) -> Features:
        if rows.texts.is_pair is not (self.name == "siamese_lr"):
            other = "siamese_lr" if rows.texts.is_pair else "lr"
            raise InputError(
                f"rows are {'pairs' if rows.texts.is_pair else 'single texts'}",
                where=self.name,
                remedy=f"use {other}",
            )
        if self.settings.features == "phi" and self.phi is not None:
            return self.phi
        vocabulary = self.corpus if self._needs_corpus else None
        chosen = vocabulary or Vocabulary(self.counts, rows.texts)

        def tfidf(texts: Texts) -> Any:
            columns = chosen(texts)
            return sparse_pairs(*columns) if texts.is_pair else columns[0]

        return tfidf


def _solver() -> Any:
    """A logistic regression, not yet solved."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=_ITERATIONS, warm_start=True)


def _solve(solver: Any, features: Any, rows: TrainingRows, inverse_penalty: float) -> None:
    """The optimum, from the one that the solver found last."""
    # The tolerance is of the gradient of the mean loss, in which the penalty's part is W / (C n):
    # with scikit-learn's own it would not count for many rows.
    tolerance = min(1e-4, 1e-2 / (len(rows) * inverse_penalty))
    solver.set_params(C=inverse_penalty, tol=tolerance)
    solver.fit(features, rows.labels, sample_weight=rows.relative_weights)


class LinearModel(Model):
    """A trained logistic regression."""

    def __init__(self, features: Features, rows: TrainingRows, solver: Any) -> None:
        self._features, self._solver, self._pairs = features, solver, rows.texts.is_pair
        self._present, self._n_classes = np.unique(rows.labels), rows.n_classes

    def logits(self, texts: Texts) -> Float64:
        """W x + b of the classes that it was trained on."""
        check_same_task(texts, pairs=self._pairs)
        logits = np.full((len(texts), self._n_classes), -np.inf)
        if not len(texts):
            return logits
        scores = self._solver.decision_function(self._features(texts))
        if scores.ndim == 1:  # two classes: the second's lead over the first
            scores = np.stack([-scores / 2, scores / 2], axis=1)
        logits[:, self._present] = scores
        return logits

    def coefficients(self) -> tuple[Float64, Float64]:
        """W (C, d) and b (C,) of dense features: its logits are W x + b.

        A class that it saw no row of has the bias −∞.
        """
        weights, biases = self._solver.coef_, self._solver.intercept_
        if len(biases) == 1:
            weights, biases = (np.concatenate([-each / 2, each / 2]) for each in (weights, biases))
        all_weights = np.zeros((self._n_classes, weights.shape[1]))
        all_biases = np.full(self._n_classes, -np.inf)
        all_weights[self._present], all_biases[self._present] = weights, biases
        return all_weights, all_biases
