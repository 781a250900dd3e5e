"""Pairs whose label depends on both texts, φ that may not show it, and a tiny transformer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from take.encoder.embeddings import Embeddings, MappedVectors, unique_strings
from take.generation.verifier.verifier_settings import VerifierSettings
from take.rows.labelled import text_columns
from take.text.copies import CopySettings
from tests.learners import toy

EXACT = CopySettings(near_copy_overlap=1.0)
"""Rows of so few words are much alike: only the same words make a copy."""


def table(texts: dict[str, list[str]], labels: np.ndarray) -> pd.DataFrame:
    names = np.array(["mixed", "good"])
    ids = [f"row{i}" for i in range(len(labels))]
    return pd.DataFrame({"id": ids, **texts, "label": labels, "label_name": names[labels]})


def pair_corpus(n_rows: int, seed: int = 0) -> pd.DataFrame:
    """Label 1 if both texts are of good mood; neither text alone tells it."""
    moods = np.array([(1, 1), (0, 1), (1, 1), (1, 0)])[np.arange(n_rows) % 4]
    sides = []
    for side in (0, 1):
        texts, labels = toy.sentences(4 * n_rows, 2 * seed + side)
        by_mood = [
            [t for t, label in zip(texts, labels, strict=True) if label == m] for m in (0, 1)
        ]
        sides.append([by_mood[mood].pop() for mood in moods[:, side]])
    return table({"text_a": sides[0], "text_b": sides[1]}, moods.all(axis=1).astype(np.int64))


def single_corpus(n_rows: int, seed: int = 0) -> pd.DataFrame:
    texts, labels = toy.sentences(n_rows, seed)
    return table({"text": texts}, labels)


def embedded(corpus: pd.DataFrame, *, shows_mood: bool) -> Embeddings:
    """A random vector for each string, and the mood of its words in the first number."""
    strings, rows = unique_strings(text_columns(corpus))
    vectors = np.random.default_rng(0).standard_normal((len(strings), 12))
    if shows_mood:
        good = np.array([any(word in toy.GOOD for word in text.split()) for text in strings])
        vectors[:, 0] = np.where(good, 9, -9)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return Embeddings(MappedVectors(vectors.astype(np.float32)), rows)


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy.bert(tmp_path_factory.mktemp("bert"))


@pytest.fixture
def settings(tiny_bert: Path) -> VerifierSettings:
    return VerifierSettings(
        held_out_rows=200,
        model=str(tiny_bert),
        max_tokens=64,
        learning_rate=3e-3,
        max_epochs=12,
        patience=8,
        batch_rows=64,
        precision="float32",
    )
