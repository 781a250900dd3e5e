"""A tiny made-up corpus: sentences from a small grammar, φ a random projection of their words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from take.encoder.embeddings import Embeddings, MappedVectors
from take.generation.quality.evidence import PoolEvidence, QualitySettings
from take.generation.verifier.verifier_settings import Scores, VerifierReport

N_FEATURES = 24
WORDS = [f"{start}{end}zq" for start in ("ba", "ko", "ri", "mu", "se") for end in "abcdefghijklmn"]
MOODS = (["dull", "flat", "limp"], ["grand", "warm", "keen"])
NAMES = ["negative", "positive"]


def sentences(n_rows: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    labels = np.arange(n_rows) % 2
    texts = []
    for label in labels:
        words = rng.choice(WORDS, size=rng.integers(5, 12)).tolist()
        words.insert(int(rng.integers(len(words))), str(rng.choice(MOODS[label])))
        texts.append(" ".join(words))
    return pd.DataFrame(
        {
            "id": [f"r{seed}-{i}" for i in range(n_rows)],
            "text": texts,
            "label": labels,
            "label_name": [NAMES[label] for label in labels],
        }
    )


def embed(texts: Sequence[str]) -> NDArray[np.float32]:
    """The sum of a random vector per word, scaled to length 1; moods weigh most."""
    vectors = []
    for text in texts:
        total = np.zeros(N_FEATURES)
        for word in text.split():
            rng = np.random.default_rng(list(word.encode()))
            total += rng.standard_normal(N_FEATURES)
            if word in MOODS[0] or word in MOODS[1]:
                total[0] += 6 if word in MOODS[1] else -6
        vectors.append(total / np.linalg.norm(total))
    return np.array(vectors, dtype=np.float32)


def as_embeddings(vectors: NDArray[np.float32]) -> Embeddings:
    return Embeddings(MappedVectors(vectors), np.arange(len(vectors))[:, None])


def judged_of(pool: pd.DataFrame) -> pd.DataFrame:
    return pool[["label", "prompt_label", "text", "verifier_label"]].assign(reason="")


@pytest.fixture(scope="session")
def corpus() -> pd.DataFrame:
    return sentences(1200, seed=1)


@pytest.fixture(scope="session")
def corpus_vectors(corpus) -> NDArray[np.float32]:
    return embed(corpus["text"])


@pytest.fixture(scope="session")
def seen() -> NDArray[np.bool_]:
    return np.random.default_rng(3).random(1200) < 0.5


@pytest.fixture(scope="session")
def evidence_of(corpus, corpus_vectors, seen):
    """Evidence on a pool of these rows, with a probe that looks at the mood alone."""
    weights = np.zeros((2, N_FEATURES), dtype=np.float32)
    weights[:, 0] = [-1, 1]
    held_out = slice(0, 300)
    predicted = (corpus_vectors[held_out] @ weights.T).argmax(axis=1)
    scores = Scores.of(corpus["label"].to_numpy()[held_out], predicted, 2, seconds=0.0)
    report = VerifierReport(
        kind="probe",
        title="the mood alone",
        trained_rows=900,
        validation_rows=0,
        held_out_rows=300,
        classes=NAMES,
        probe=scores,
    )

    def make(rows: pd.DataFrame, judged: pd.DataFrame | None = None) -> PoolEvidence:
        vectors = embed(rows["text"])
        predicted = pd.array((vectors @ weights.T).argmax(axis=1), dtype="Int64")
        pool = rows.reset_index(drop=True).assign(
            prompt_label=rows["label"].to_numpy(), verifier_label=predicted, verifier_confidence=0.9
        )
        return PoolEvidence(
            pool=pool,
            judged=judged_of(pool) if judged is None else judged,
            pool_embeddings=as_embeddings(vectors),
            corpus=corpus,
            embeddings=as_embeddings(corpus_vectors),
            seen=seen,
            verifier=report,
        )

    return make


@pytest.fixture(scope="session")
def settings() -> QualitySettings:
    return QualitySettings(
        block_rows=97, bleu_hypotheses=40, bleu_references=100, mauve_rows=250, worst_regions=3
    )
