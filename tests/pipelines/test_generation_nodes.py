"""The node that trains the verifier, and the dataset that keeps it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from take.datasets.artifact import Artifact
from take.encoder.embeddings import Embeddings, MappedVectors
from take.generation.verifier.verifier import Probe, load_verifier
from take.generation.verifier.verifier_settings import VerifierSettings
from take.learners import Texts
from take.pipelines.generation.nodes import train_verifier
from take.text.copies import CopySettings
from tests.learners import toy

N_ROWS = 600


def test_a_verifier_is_trained_kept_and_loaded(tmp_path: Path) -> None:
    texts, labels = toy.sentences(N_ROWS, seed=1)
    names = np.array(["bad", "good"])[labels]
    corpus = pd.DataFrame({"id": texts, "text": texts, "label": labels, "label_name": names})
    vectors = np.random.default_rng(0).standard_normal((N_ROWS, 8)).astype(np.float32)
    vectors[:, 0] = 3 * labels
    embeddings = Embeddings(MappedVectors(vectors), np.arange(N_ROWS)[:, None])
    exact = CopySettings(near_copy_overlap=1.0)
    trained = train_verifier(corpus, embeddings, VerifierSettings(), exact)
    assert trained.report.probe.accuracy > 0.9
    assert trained.report.classes == ["bad", "good"]

    kept = Artifact(
        filepath=str(tmp_path / "verifier"), dataset="take.datasets.folders.VerifierDataset"
    )
    kept.save(trained.verifier)
    folder = kept.load()
    assert {path.name for path in folder.iterdir()} == {"verifier.json", "weights.safetensors"}
    loaded = load_verifier(folder)
    assert isinstance(loaded, Probe)
    rows = Texts.of(texts)
    np.testing.assert_array_equal(
        loaded.probabilities(rows, embeddings), trained.verifier.probabilities(rows, embeddings)
    )
