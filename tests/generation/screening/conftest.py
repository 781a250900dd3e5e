"""A small corpus of film remarks, as single texts and as pairs, and screens over it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from take.encoder.embeddings import Embeddings, MappedVectors
from take.encoder.encode import EmbeddingSettings, Encoder, embed_corpus
from take.encoder.models import EncoderSettings
from take.generation.screening.reasons import ScreeningSettings
from take.generation.screening.screen import Reference, Screen
from take.generation.verifier.verifier import Probe, Verifier
from take.text.copies import CopySettings

Row = str | tuple[str, str]

TRAIN: list[tuple[Row, int]] = [
    ("the plot is a slow and tired march through a war nobody cares about", 0),
    ("two hours of loud noise and not one joke that works", 0),
    ("the script was clearly written in a single afternoon", 0),
    ("a dull mess", 0),
    ("a warm and funny portrait of a family that refuses to give up", 1),
    ("the best performance of the year in one of its finest films", 1),
    ("every scene is a small delight and the ending is perfect", 1),
    ("a quiet triumph", 1),
]
EVALUATION: list[tuple[Row, int]] = [
    ("the director has no idea what to do with such a good cast", 0),
    ("you will leave the cinema smiling and humming the songs", 1),
]
PAIRS: list[tuple[Row, int]] = [
    (("a man in a red coat is walking his dog along the river", "he is outdoors"), 0),
    (("two children are playing chess in the garden of their house", "they sleep"), 1),
    (("the old woman sells fresh bread at the market every morning", "she sells food"), 0),
    (("cats run", "dogs bark"), 1),
]
PAIR_EVALUATION: list[tuple[Row, int]] = [
    (("a group of students waits for the last train of the night", "they wait"), 0),
]
WORDS_ALONE = ScreeningSettings(near_copy_cosine=None, contradiction_threshold=None)
"""Settings with which nothing is ever embedded."""
COPIES = CopySettings()
LENIENT = {"unknown_word_share": 1.0}
"""So small a corpus knows few words."""


def frame(rows: Sequence[tuple[Row, int]], prefix: str) -> pd.DataFrame:
    texts = [row if isinstance(row, tuple) else (row,) for row, _ in rows]
    columns = ["text"] if len(texts[0]) == 1 else ["text_a", "text_b"]
    made = pd.DataFrame(texts, columns=columns)
    made.insert(0, "id", [f"{prefix}{i}" for i in range(len(rows))])
    made["label"] = np.array([label for _, label in rows], dtype=np.int64)
    made["label_name"] = made["label"].map({0: "bad", 1: "good"})
    return made


def candidates(rows: Sequence[Row | None], label: int = 1, tokens: int = 10) -> pd.DataFrame:
    """Generated rows of one class; None is a row that did not parse."""
    is_pair = any(isinstance(row, tuple) for row in rows)
    columns = ["text_a", "text_b"] if is_pair else ["text"]
    texts = [
        (None,) * len(columns) if row is None else row if isinstance(row, tuple) else (row,)
        for row in rows
    ]
    made = pd.DataFrame(texts, columns=columns)
    made["label"] = np.int64(label)
    made["index"] = np.arange(len(rows))
    made["raw"] = "raw"
    made["finished"] = True
    made["tokens"] = np.int64(tokens)
    return made


MakeScreen = Callable[..., Screen]


@pytest.fixture
def word_screen(tmp_path: Path) -> MakeScreen:
    """Screens that compare words alone: their encoder is never loaded, their vectors are zero."""

    def make(
        train: Sequence[tuple[Row, int]] = TRAIN,
        evaluation: Sequence[tuple[Row, int]] = EVALUATION,
        markers: tuple[str, ...] = ("<|end|>", "### Label:"),
        copies: CopySettings = COPIES,
        **settings: object,
    ) -> Screen:
        corpus = frame(train, "train")
        n_texts = corpus.shape[1] - 3
        vectors = MappedVectors(np.zeros((1, 4), dtype=np.float32))
        embeddings = Embeddings(vectors, np.zeros((len(corpus), n_texts), dtype=np.int64))
        reference = Reference(
            corpus=corpus,
            evaluation_split=frame(evaluation, "evaluation"),
            embeddings=embeddings,
            encoder=Encoder(EncoderSettings(backend="torch"), tmp_path / "never"),
            verifier=Probe(("bad", "good"), np.zeros((2, embeddings.shape[1])), np.zeros(2)),
            min_tokens=3,
            max_tokens=40,
            markers=markers,
        )
        return Screen(reference, WORDS_ALONE.model_copy(update={**LENIENT, **settings}), copies)

    return make


@pytest.fixture
def real_screen(tmp_path: Path) -> MakeScreen:
    """Screens with the real encoder, and a probe that is sure of its classes' means."""
    encoder = Encoder(EncoderSettings(backend="torch"), tmp_path)

    def make(
        train: Sequence[tuple[Row, int]] = TRAIN,
        evaluation: Sequence[tuple[Row, int]] = EVALUATION,
        copies: CopySettings = COPIES,
        verifier: Verifier | None = None,
        **settings: object,
    ) -> Screen:
        corpus = frame(train, "train")
        columns = [corpus[c].tolist() for c in corpus.columns if c.startswith("text")]
        embeddings = embed_corpus(columns, encoder, EmbeddingSettings()).embeddings
        features, labels = embeddings.read(0, len(corpus)), corpus["label"].to_numpy()
        means = np.stack([features[labels == label].mean(axis=0) for label in (0, 1)])
        reference = Reference(
            corpus=corpus,
            evaluation_split=frame(evaluation, "evaluation"),
            embeddings=embeddings,
            encoder=encoder,
            verifier=verifier
            or Probe(("bad", "good"), 30 * (means - means.mean(axis=0)), np.zeros(2)),
            min_tokens=3,
            max_tokens=40,
            markers=("<|end|>",),
        )
        return Screen(reference, ScreeningSettings.model_validate({**LENIENT, **settings}), copies)

    return make
