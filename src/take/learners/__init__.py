"""Learners by name: each is taught with a few rows and nothing else (METHOD §4).

A new one is a file, its settings, and a line in `make_learner`.

>>> import numpy as np
>>> rows = Taught(Texts.of(["a good film", "a bad film"]), np.array([1, 0]), n_classes=2)
>>> learner = make_learner(LinearSettings(vocabulary="rows"), Shared())
>>> learner.teach(rows, seed=0).predict(Texts.of(["so good", "so bad"])).tolist()
[1, 0]
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from take.learners.base import Learner, Model, Taught, Texts
from take.learners.lexical import Vocabulary, WordCounts
from take.learners.linear import LinearLearner
from take.learners.networks import NetworkLearner
from take.learners.pretrained import Pretrained
from take.learners.sentence_vectors import SentenceVectors
from take.learners.settings import (
    LearnerSettings,
    LinearSettings,
    NetworkSettings,
    TransformerSettings,
    WordVectorSettings,
)
from take.learners.transformer import TransformerLearner
from take.learners.word_vectors import WordVectors, load_word_vectors

__all__ = [
    "DEFAULTS",
    "Learner",
    "LearnerSettings",
    "Model",
    "SentenceVectors",
    "Shared",
    "Taught",
    "Texts",
    "Vocabulary",
    "WordCounts",
    "make_learner",
]

DEFAULTS: dict[str, LearnerSettings] = {
    "lr": LinearSettings(),
    "lr_rows": LinearSettings(vocabulary="rows"),
    "lr_phi": LinearSettings(features="phi"),
    "siamese_lr": LinearSettings(kind="siamese_lr"),
    "siamese_lr_rows": LinearSettings(kind="siamese_lr", vocabulary="rows"),
    "siamese_lr_phi": LinearSettings(kind="siamese_lr", features="phi"),
    "textcnn": NetworkSettings(),
    "textrnn": NetworkSettings(kind="textrnn"),
    "transformer": TransformerSettings(),
    "embedded_lm": TransformerSettings(model="embedded_lm"),
}
"""Learners by name, with their own settings."""


@dataclass
class Shared:
    """What the cells of a grid share: counted words, vectors, weights, tokens.

    Keep one for as long as cells are run; ask about one `Texts` object for each set of rows.
    """

    counts: WordCounts = field(default_factory=WordCounts)
    corpus: Vocabulary | None = None  # words and idf of the full corpus
    phi: SentenceVectors | None = None
    language_models: Path = Path("data/06_models/language_models")
    word_vectors: Path | None = None  # a folder that keeps what large vector files were read into
    _vectors: dict[WordVectorSettings, WordVectors] = field(default_factory=dict)
    _pretrained: dict[tuple[str, str | None, int], Pretrained] = field(default_factory=dict)

    def vectors_of(self, settings: WordVectorSettings) -> WordVectors:
        """Word vectors, read when first asked for."""
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
    """The learner that the settings describe, with its part of what is shared."""
    if isinstance(settings, LinearSettings):
        return LinearLearner(settings, shared.counts, shared.corpus, shared.phi)
    if isinstance(settings, NetworkSettings):
        return NetworkLearner(settings, shared.vectors_of(settings.words))
    return TransformerLearner(settings, shared.pretrained_of(settings))
