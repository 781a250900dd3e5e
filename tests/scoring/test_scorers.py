from __future__ import annotations

import numpy as np
import pytest

from take.rows.blocks import ArrayBlocks
from take.scoring.diagnostics import study_scorers
from take.scoring.scorers import SCORERS, Evidence, score
from take.scoring.scoring_inputs import ScoringSettings


@pytest.fixture(scope="module")
def evidence(corpus):
    return Evidence(corpus.features, corpus.labels, corpus.settings)


@pytest.mark.parametrize("name", SCORERS)
def test_every_scorer_gives_weights_that_sum_to_one_below_the_cap(evidence, name):
    scored = score(evidence, name)
    assert scored.weights.shape == (600,)
    assert np.isfinite(scored.weights).all()
    assert scored.weights.sum() == pytest.approx(1, abs=1e-9)
    assert scored.weights.max() <= evidence.settings.cap / 600
    assert scored.report.n_rows == 600


@pytest.mark.parametrize("name", SCORERS)
def test_duplicates_get_equal_weight(corpus, name):
    rows = np.vstack([corpus.rows, corpus.rows[:50]])
    labels = np.concatenate([corpus.labels, corpus.labels[:50]])
    settings = corpus.settings.model_copy(update={"scorer": name, "kernel_decay": 1.0})
    weights = score(Evidence(ArrayBlocks(rows), labels, settings)).weights
    np.testing.assert_allclose(weights[:50], weights[600:], rtol=1e-4)


@pytest.mark.parametrize("name", SCORERS)
def test_rows_permuted_permute_the_weights(corpus, evidence, name):
    """For one probe; training itself depends on the order of the rows."""
    order = np.random.default_rng(3).permutation(600)
    permuted = Evidence(
        ArrayBlocks(corpus.rows[order]),
        corpus.labels[order],
        corpus.settings,
        trajectory=evidence.trajectory,
        decay=evidence.decay,
    )
    np.testing.assert_allclose(
        score(permuted, name).weights,
        score(evidence, name).weights[order],
        rtol=1e-3,
    )


def test_block_size_does_not_matter(corpus, evidence):
    settings = corpus.settings.model_copy(update={"block_rows": 13})
    other = Evidence(corpus.features, corpus.labels, settings)
    np.testing.assert_allclose(
        score(other, "trajectory").weights,
        score(evidence, "trajectory").weights,
        rtol=1e-5,
    )


def test_weights_stay_finite_when_the_probe_becomes_certain():
    """Separable rows and a reckless learning rate: p → 1 and most gradients underflow."""
    rows = np.zeros((100, 2), dtype=np.float32)
    labels = np.arange(100) % 2
    rows[np.arange(100), labels] = 1
    rows[0] = [0.6, 0.8]  # one row on the wrong side keeps the columns from being all zero
    settings = ScoringSettings(checkpoints=5, epochs=300, batch_size=10, learning_rate=1.0)
    scored = score(Evidence(ArrayBlocks(rows), labels, settings))
    assert np.isfinite(scored.weights).all()
    assert scored.weights.sum() == pytest.approx(1, abs=1e-9)
    assert scored.report.floored_entries > 0


def test_uniform_trains_no_probe(evidence, monkeypatch):
    monkeypatch.setattr(Evidence, "trajectory", property(lambda self: pytest.fail("trained")))
    assert (score(evidence, "uniform").weights == 1 / 600).all()


def test_last_checkpoint_is_the_trajectory_scorer_with_the_last_kernel(corpus, evidence):
    settings = corpus.settings.model_copy(update={"kernel": "last"})
    other = Evidence(
        corpus.features, corpus.labels, settings, trajectory=evidence.trajectory, decay=1.0
    )
    np.testing.assert_array_equal(
        score(other, "trajectory").weights,
        score(evidence, "last_checkpoint").weights,
    )


def test_a_stored_trajectory_gives_the_same_weights(corpus, evidence):
    stored = Evidence(
        corpus.features,
        corpus.labels,
        corpus.settings,
        trajectory=evidence.trajectory,
        decay=evidence.decay,
    )
    np.testing.assert_array_equal(score(stored).weights, score(evidence, "trajectory").weights)


def test_the_study_separates_the_scorers(corpus):
    """On clustered rows a wrong label stands out: κ spots it, self-influence favours it."""
    study = study_scorers(corpus.features, corpus.labels, 3, corpus.settings)
    assert set(study.auc) == set(SCORERS)
    assert study.auc["uniform"] == 0.5
    assert study.auc["trajectory"] > 0.75
    assert study.auc["influence_self"] < 0.3
    assert study.auc["el2n"] < 0.25
    for bias in study.proposition_1.values():
        assert bias.verdict == "holds"
        assert bias.gap.value >= bias.lower_bound
    assert study.proposition_2.kappa.value < 0
    exact = study.self_influence_ranks["influence_self"]
    assert exact["influence_self"] == pytest.approx(1)
    assert 0.9 < exact["influence_self_kfac"] <= exact["influence_self_ekfac"] < 1
