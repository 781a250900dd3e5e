from __future__ import annotations

import hashlib
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from take.rows.blocks import ArrayBlocks
from take.scoring.scoring_inputs import ScoringError
from take.scoring.trajectory import _AdamW, checkpoint_steps, shuffled_batches, train_probe


@pytest.fixture(scope="module")
def probe(corpus):
    return train_probe(corpus.features, corpus.labels, 3, corpus.settings)


def test_the_first_checkpoint_is_untouched(probe):
    assert not probe.weights[0].any()
    assert not probe.biases[0].any()
    assert probe.steps[0] == 0
    assert probe.train_loss[0] == pytest.approx(np.log(3), rel=1e-5)


def test_the_probe_learns(probe):
    assert probe.weights.shape == (6, 3, 16)
    assert probe.train_loss[-1] < 0.8 * probe.train_loss[0]
    assert probe.validation_accuracy[-1] > 0.6


def test_the_second_probe_is_not_trained_on_the_validation_rows(corpus):
    """Each row its own feature: only rows that were trained on can be predicted."""
    features = ArrayBlocks(np.eye(200, dtype=np.float32))
    settings = corpus.settings.model_copy(update={"learning_rate": 0.3, "epochs": 40})
    probe = train_probe(features, np.arange(200) % 2, 2, settings)
    assert probe.train_accuracy[-1] == 1.0
    assert len(probe.validation_rows) == 10
    assert probe.validation_loss[-1] > 0.6


def test_metrics_are_those_of_the_checkpoints(corpus, probe):
    logits = corpus.rows @ probe.weights[-1].T + probe.biases[-1]
    assert probe.train_accuracy[-1] == pytest.approx((logits.argmax(1) == corpus.labels).mean())
    log_p = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    loss = -log_p[np.arange(600), corpus.labels].mean()
    assert probe.train_loss[-1] == pytest.approx(loss, rel=1e-5)


def test_another_seed_gives_other_batches(corpus, probe):
    settings = corpus.settings.model_copy(update={"seed": 1})
    other = train_probe(corpus.features, corpus.labels, 3, settings)
    assert not np.array_equal(other.weights[-1], probe.weights[-1])


def test_adamw_is_torchs():
    import torch

    rng = np.random.default_rng(0)
    ours = rng.standard_normal((3, 4)).astype(np.float32)
    theirs = torch.nn.Parameter(torch.from_numpy(ours.copy()))
    optimiser = torch.optim.AdamW([theirs], lr=0.05, weight_decay=0.1)
    own = _AdamW(ours, learning_rate=0.05, weight_decay=0.1)
    for _ in range(20):
        gradient = rng.standard_normal((3, 4)).astype(np.float32)
        theirs.grad = torch.from_numpy(gradient.copy())
        optimiser.step()
        own.update(gradient)
    np.testing.assert_allclose(ours, theirs.detach().numpy(), rtol=1e-4, atol=1e-5)


@given(
    checkpoints=st.integers(2, 40),
    extra=st.integers(0, 5000),
    name=st.sampled_from(["even", "log"]),
)
def test_checkpoints_are_distinct_and_span_training(checkpoints, extra, name):
    updates = checkpoints - 1 + extra
    steps = checkpoint_steps(name, checkpoints, updates)
    assert len(steps) == checkpoints
    assert steps[0] == 0
    assert steps[-1] == updates
    assert (np.diff(steps) > 0).all()


def test_log_resolves_early_learning():
    even, log = (checkpoint_steps(name, 10, 1000) for name in ("even", "log"))
    assert (log[1:-1] < even[1:-1]).all()


@pytest.mark.parametrize(
    ("checkpoints", "updates", "message"),
    [(1, 100, "T is 1.*2 or more"), (20, 5, "5 updates cannot give 20 .*epochs")],
)
def test_impossible_schedules_are_refused(checkpoints, updates, message):
    with pytest.raises(ScoringError, match=message):
        checkpoint_steps("even", checkpoints, updates)


@pytest.mark.parametrize("n_rows", [5, 64, 1000, 20_000])
def test_an_epoch_shows_every_row_once(n_rows):
    rows = np.arange(n_rows, dtype=np.float32)[:, None]
    batches = list(shuffled_batches(ArrayBlocks(rows), 1, n_rows, seed=3))
    seen = np.concatenate([batch.rows for batch in batches])
    np.testing.assert_array_equal(np.sort(seen), np.arange(n_rows))
    np.testing.assert_array_equal(np.concatenate([b.features for b in batches])[:, 0], seen)


def test_a_corpus_sorted_by_class_is_mixed():
    labels = np.repeat([0, 1], 20_000)
    features = ArrayBlocks(np.zeros((40_000, 1), dtype=np.float32))
    shares = [labels[b.rows].mean() for b in shuffled_batches(features, 256, 156, seed=0)]
    assert min(shares) > 0.2
    assert max(shares) < 0.8


SCRIPT = """
import hashlib, numpy as np
from take.rows.blocks import ArrayBlocks
from take.scoring.scorers import Evidence, score
from take.scoring.scoring_inputs import ScoringSettings
rng = np.random.default_rng(0)
rows = rng.standard_normal((500, 24))
rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
settings = ScoringSettings(checkpoints=5, epochs=3, batch_size=32, seed=11)
scored = score(Evidence(ArrayBlocks(rows), rng.integers(0, 3, size=500), settings))
print(hashlib.sha256(scored.weights.tobytes()).hexdigest())
"""


def test_two_processes_agree_to_the_byte():
    digests = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    }
    assert len(digests) == 1
    assert len(digests.pop().strip()) == hashlib.sha256().digest_size * 2
