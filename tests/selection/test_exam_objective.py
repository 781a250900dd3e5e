from __future__ import annotations

import numpy as np
import pytest

from take.selection.exam.objective import (
    Moves,
    cross_entropy,
    exact_losses,
    label_codes,
    predicted,
    quadratic_losses,
)


def losses_by_hand(logits, labels, weights, moves, steps):
    """−Σ w log softmax, one candidate at a time, in float64."""
    found = []
    for move, step in zip(moves.astype(np.float64), steps.astype(np.float64), strict=True):
        z = logits + np.outer(move, step)
        z = np.column_stack([np.zeros(len(z)), z]) if z.shape[1] == 1 else z
        z = z - z.max(axis=1, keepdims=True)
        chances = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
        found.append(-weights @ np.log(chances[np.arange(len(z)), labels]))
    return np.array(found)


def case(n_classes: int, scale: float = 1.0, candidates: int = 40):
    rng = np.random.default_rng(n_classes)
    d = 1 if n_classes == 2 else n_classes
    labels = rng.integers(0, n_classes, size=50)
    weights = rng.random(50)
    weights /= weights.sum()
    logits = rng.standard_normal((50, d))
    covariances = rng.standard_normal((candidates, 50)).astype(np.float32) * np.float32(scale)
    heights = rng.standard_normal(candidates).astype(np.float32) * np.float32(scale)
    gains = rng.standard_normal(50).astype(np.float32)
    steps = rng.standard_normal((candidates, d)).astype(np.float32)
    return logits, labels, weights, Moves(covariances, heights, gains), steps


@pytest.mark.parametrize("n_classes", [2, 3, 6])
@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
def test_exact_losses_are_weighted_cross_entropy(n_classes, scale):
    logits, labels, weights, moves, steps = case(n_classes, scale)
    written = moves.of(np.arange(40))
    codes = label_codes(labels, n_classes)
    expected = losses_by_hand(logits, labels, weights, written, steps)
    found = exact_losses(logits, codes, weights, written, steps)
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_logits_beyond_float32_exponents_are_still_scored_correctly(n_classes):
    logits, labels, weights, moves, steps = case(n_classes)
    far = (moves.of(np.arange(40)) * 100).astype(np.float32)
    codes = label_codes(labels, n_classes)
    z = logits[None] + far[:, :, None] * steps[:, None]
    assert np.abs(z).max() > 100
    expected = [cross_entropy(one.astype(np.float64), codes, weights) for one in z]
    found = exact_losses(logits, codes, weights, far, steps)
    assert (found >= 0).all()
    np.testing.assert_allclose(found, expected, rtol=1e-4)


@pytest.mark.parametrize("n_classes", [2, 4, 9])
def test_the_screen_is_right_to_second_order(n_classes):
    """Halve the moves, and the error falls by eight."""
    errors = []
    for scale in (0.2, 0.1):
        logits, labels, weights, moves, steps = case(n_classes, scale)
        codes = label_codes(labels, n_classes)
        near = quadratic_losses(logits, codes, weights, moves, steps)
        written = moves.of(np.arange(40))
        errors.append(np.abs(near - losses_by_hand(logits, labels, weights, written, steps)).max())
    assert errors[1] < errors[0] / 5
    assert errors[1] < 1e-2


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_both_ways_to_the_second_order_agree(n_classes, monkeypatch):
    logits, labels, weights, moves, steps = case(n_classes)
    codes = label_codes(labels, n_classes)
    found = []
    for most in (0, 10):
        monkeypatch.setattr("take.selection.exam.objective._PACKED_SCORES", most)
        found.append(quadratic_losses(logits, codes, weights, moves, steps))
    np.testing.assert_allclose(*found, rtol=1e-4)


@pytest.mark.parametrize("n_classes", [3, 9])
def test_blocks_do_not_change_losses(n_classes, monkeypatch):
    logits, labels, weights, moves, steps = case(n_classes)
    codes = label_codes(labels, n_classes)
    whole = quadratic_losses(logits, codes, weights, moves, steps)
    monkeypatch.setattr("take.selection.exam.objective.BLOCK_ENTRIES", 170)
    parts = quadratic_losses(logits, codes, weights, moves, steps)
    np.testing.assert_allclose(parts, whole, rtol=1e-5)


def test_predictions_of_margins_and_of_scores():
    assert predicted(np.array([[-0.1], [0.1]])).tolist() == [0, 1]
    assert predicted(np.array([[0.0, 2.0, 1.0]])).tolist() == [1]
