from __future__ import annotations

import numpy as np
import pytest

from take.scoring.noise import flip_labels, make_noisy_copy, memorisation_onset


@pytest.mark.parametrize(
    ("norms", "onset"),
    [
        ([1.0, 1.3, 1.2, 1.1, 0.99, 0.5], 4),  # rises, then is memorised
        ([1.0, 0.9, 1.5, 1.5], 1),  # below at once: the first time counts
        ([1.0, 1.1, 1.2, 1.3], 4),  # never: T_m = T
        ([1.0, 1.0, 1.0], 3),  # equal is not below
    ],
)
def test_onset_on_constructed_trajectories(norms, onset):
    assert memorisation_onset(np.array(norms)) == onset


def test_flips_reach_every_other_class_and_never_the_same():
    labels = np.repeat(np.arange(4), 500)
    flipped, is_flipped = flip_labels(labels, n_classes=4, share=0.3, seed=5)
    assert is_flipped.sum() == 600
    np.testing.assert_array_equal(flipped != labels, is_flipped)
    assert len(set(zip(labels[is_flipped], flipped[is_flipped], strict=True))) == 4 * 3
    assert (labels == np.repeat(np.arange(4), 500)).all()  # the corpus itself is untouched


def test_flips_follow_the_seed():
    labels = np.arange(100) % 2
    first, again, other = (flip_labels(labels, 2, 0.1, seed).labels for seed in (0, 0, 1))
    assert (first == again).all()
    assert (first != other).any()


def test_the_copy_is_consistent(corpus):
    copy = make_noisy_copy(corpus.features, corpus.labels, 3, corpus.settings)
    assert copy.is_flipped.sum() == 60
    assert copy.decay == pytest.approx(corpus.settings.checkpoints / copy.onset)
    np.testing.assert_allclose(
        copy.flipped_norms, copy.influence[copy.is_flipped].mean(axis=0), rtol=1e-5
    )
    # The probe learns the clean rows, and so is more wrong about the flipped ones.
    assert copy.flipped_norms[-1] > copy.clean_norms[-1]


def test_a_probe_that_can_memorise_has_an_onset(corpus):
    """Each row its own feature: wrong labels are as easy to fit as right ones, from the start."""
    from take.rows.blocks import ArrayBlocks

    features = ArrayBlocks(np.eye(200, dtype=np.float32))
    settings = corpus.settings.model_copy(update={"learning_rate": 0.5, "epochs": 20})
    copy = make_noisy_copy(features, np.arange(200) % 2, 2, settings)
    assert copy.onset < settings.checkpoints
