"""Logistic regression on φ, with the real encoder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from take.encoder.encode import Encoder
from take.encoder.models import EncoderSettings
from take.learners import LinearSettings, SentenceVectors, Shared, Texts, TrainingRows, make_learner

pytestmark = pytest.mark.encoder


def test_phi_separates_pairs_that_share_no_word(tmp_path: Path) -> None:
    """Whether two texts speak of one thing: TF-IDF has nothing to go by."""
    phi = SentenceVectors(Encoder(EncoderSettings(backend="torch"), tmp_path))
    shared = Shared(phi=phi)
    learner = make_learner(LinearSettings(kind="siamese_lr", features="phi"), shared)
    left = ["a dog barked", "the car broke down", "she sang a song", "it rained all day"]
    alike = ["puppies growl", "an automobile failed", "her music", "wet weather"]
    columns = left * 2, alike + alike[2:] + alike[:2]
    rows = TrainingRows(Texts.of(*columns), np.array([1] * 4 + [0] * 4), 2)
    model = learner.fit(rows, seed=0)
    queries = Texts.of(
        ["the cat slept", "the cat slept"], ["a kitten dozed", "stocks fell sharply"]
    )
    logits = model.logits(queries)
    lead = logits[:, 1] - logits[:, 0]
    assert lead[0] > lead[1]
    assert phi(queries) is phi(queries)
    assert phi(queries).shape == (2, 4 * 384)
    assert "embedded (torch)" in learner.title
    assert learner.identity != make_learner(LinearSettings(features="phi"), shared).identity
