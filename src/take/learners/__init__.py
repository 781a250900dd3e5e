"""Learners by name: each is trained on a few rows and nothing else (METHOD §4).

A new one is a module with its settings, and a line in `make_learner`.

>>> import numpy as np
>>> rows = TrainingRows(Texts.of(["a good film", "a bad film"]), np.array([1, 0]), n_classes=2)
>>> learner = make_learner(LinearSettings(vocabulary="rows"), Shared())
>>> learner.fit(rows, seed=0).predict(Texts.of(["so good", "so bad"])).tolist()
[1, 0]
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from take.encoder.models import EMBEDDED, EMBEDDED_E5
from take.learners.base import Learner, Model, OneClass, Texts, TrainingRows
from take.learners.convergence import Converged, ConvergenceSettings
from take.learners.features import (
    SentenceVectors,
    TextVectors,
    Vocabulary,
    WordCounts,
    count_characters,
)
from take.learners.linear import LinearLearner, LinearSettings
from take.learners.networks import NetworkLearner, NetworkSettings
from take.learners.pretrained import Pretrained, TransformerSettings
from take.learners.training import UpdateSettings
from take.learners.transformer import TransformerLearner
from take.learners.word_vectors import WordVectors, WordVectorSettings, load_word_vectors

__all__ = [
    "DEFAULTS",
    "Converged",
    "ConvergenceSettings",
    "Learner",
    "LearnerSettings",
    "LinearSettings",
    "Model",
    "NetworkSettings",
    "OneClass",
    "SentenceVectors",
    "Shared",
    "Texts",
    "TrainingRows",
    "TransformerSettings",
    "UpdateSettings",
    "Vocabulary",
    "WordCounts",
    "make_learner",
]

LearnerSettings = Annotated[
    LinearSettings | NetworkSettings | TransformerSettings, Field(discriminator="kind")
]
"""The settings of any learner, by `kind`."""

DEFAULTS: dict[str, LearnerSettings] = {
    "lr": LinearSettings(),
    "lr_rows": LinearSettings(vocabulary="rows"),
    "lr_phi": LinearSettings(features="phi"),
    "siamese_lr": LinearSettings(kind="siamese_lr"),
    "siamese_lr_rows": LinearSettings(kind="siamese_lr", vocabulary="rows"),
    "siamese_lr_phi": LinearSettings(kind="siamese_lr", features="phi"),
    "char_lr": LinearSettings(features="characters"),
    "siamese_char_lr": LinearSettings(kind="siamese_lr", features="characters"),
    "textcnn": NetworkSettings(),
    "textrnn": NetworkSettings(kind="textrnn"),
    "transformer": TransformerSettings(),
    "transformer_lpft": TransformerSettings(recipe="lpft"),
    "transformer_contrastive": TransformerSettings(recipe="contrastive"),
    "e5": TransformerSettings(model=EMBEDDED_E5),
    "e5_lpft": TransformerSettings(model=EMBEDDED_E5, recipe="lpft"),
    "embedded_lm": TransformerSettings(model="embedded_lm"),
}
"""Learners by name, with their default settings."""

_LOADED: dict[Any, tuple[dict[Any, Any], dict[Any, Any]]] = {}
"""By where it was loaded from: vectors and weights, in a process that was sent a `Shared`."""


@dataclass
class Shared:
    """What the cells of a grid share: word counts, vectors, weights, tokens.

    Keep one for as long as cells are run, and use one `Texts` object for each set of rows.
    """

    counts: WordCounts = field(default_factory=WordCounts)
    corpus: Vocabulary | None = None  # words and idf of the full corpus
    phi: TextVectors | None = None
    encoder: str = EMBEDDED  # the `model` that φ is of, and rows are selected with
    language_models: Path | None = None  # the folder of converted weights
    characters: WordCounts = field(init=False, default_factory=count_characters)
    word_vectors: Path | None = None  # a folder that caches large vector files as read
    _vectors: dict[WordVectorSettings, WordVectors] = field(default_factory=dict)
    _pretrained: dict[tuple[str, str | None, int], Pretrained] = field(default_factory=dict)

    def __getstate__(self) -> dict[str, Any]:
        """What is loaded does not travel; another process may have another working directory."""
        empty = {"_vectors": {}, "_pretrained": {}, "characters": count_characters()}
        folders = {
            name: folder and folder.absolute()
            for name, folder in vars(self).items()
            if name in ("word_vectors", "language_models")
        }
        return {**vars(self), **empty, **folders}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        # A process loads weights once, however many experiments it computes cells of.
        place = self.word_vectors, self.language_models
        self._vectors, self._pretrained = _LOADED.setdefault(place, ({}, {}))

    def vectors_of(self, settings: WordVectorSettings) -> WordVectors:
        """Word vectors, read when first used."""
        if settings not in self._vectors:
            self._vectors[settings] = load_word_vectors(settings, self.word_vectors)
        return self._vectors[settings]

    def pretrained_of(self, settings: TransformerSettings) -> Pretrained:
        """A pretrained transformer, loaded when first used."""
        key = (settings.model, settings.revision, settings.max_tokens)
        if key not in self._pretrained:
            self._pretrained[key] = Pretrained(settings, self.language_models)
        return self._pretrained[key]


def make_learner(settings: LearnerSettings, shared: Shared) -> Learner:
    """The learner that the settings describe, with the resources that it shares with others."""
    if isinstance(settings, LinearSettings):
        counts = shared.characters if settings.features == "characters" else shared.counts
        return LinearLearner(settings, counts, shared.corpus, shared.phi)
    if isinstance(settings, NetworkSettings):
        return NetworkLearner(settings, shared.vectors_of(settings.words))
    return TransformerLearner(settings, shared.pretrained_of(settings))
