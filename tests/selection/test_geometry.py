"""Distances of joined features against the formula, computed directly in fp64."""

from __future__ import annotations

import numpy as np
import pytest

from take.rows.blocks import ArrayBlocks
from take.selection.geometry import GeometrySettings, Probe, Seen, joined_features
from tests.selection.conftest import unit_rows

N_ROWS, N_CANDIDATES, N_FEATURES, N_CLASSES = 50, 20, 8, 3
VERDICTS = ["dull grey film", "grand red film", "slow plot", "quick wit", "film of the year"]


def features(blocks) -> np.ndarray:
    return blocks.read(0, blocks.shape[0]).astype(np.float64)


def squared(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    return ((one[:, None, :] - other[None, :, :]) ** 2).sum(axis=2)


def seen(phi: np.ndarray, *texts: list[str]) -> Seen:
    columns = texts or ([VERDICTS[i % len(VERDICTS)] for i in range(len(phi))],)
    return Seen(ArrayBlocks(phi.astype(np.float32)), columns)


@pytest.fixture
def corpus() -> Seen:
    return seen(unit_rows(N_ROWS, N_FEATURES, np.random.default_rng(0)))


@pytest.fixture
def pool() -> Seen:
    return seen(unit_rows(N_CANDIDATES, N_FEATURES, np.random.default_rng(1)))


@pytest.fixture
def probe() -> Probe:
    rng = np.random.default_rng(2)
    weights = rng.standard_normal((N_CLASSES, N_FEATURES)).astype(np.float32)
    return Probe(weights, rng.standard_normal(N_CLASSES).astype(np.float32))


def joined(corpus: Seen, pool: Seen, probe: Probe, **settings: float):
    return joined_features(corpus, pool, probe, GeometrySettings(**settings), seed=0)


def centred_logits(phi: np.ndarray, probe: Probe) -> np.ndarray:
    logits = phi @ probe.weights.T.astype(np.float64) + probe.biases
    return logits - logits.mean(axis=1, keepdims=True)


def test_nothing_joined_is_phi_itself(corpus, pool, probe):
    ours, theirs = joined(corpus, pool, probe)
    assert ours is corpus.phi
    assert theirs is pool.phi


@pytest.mark.parametrize("share", [0.25, 1.0, 9.0])
def test_margins_add_their_share_of_the_distance_of_logits(corpus, pool, probe, share):
    ours, theirs = joined(corpus, pool, probe, margin=share)
    phi, pool_phi = features(corpus.phi), features(pool.phi)
    logits, pool_logits = centred_logits(phi, probe), centred_logits(pool_phi, probe)
    size = ((logits - logits.mean(axis=0)) ** 2).sum(axis=1).mean()
    expected = squared(phi, pool_phi) + share * squared(logits, pool_logits) / size
    np.testing.assert_allclose(squared(features(ours), features(theirs)), expected, rtol=1e-4)
    # φ stands in front, untouched.
    np.testing.assert_array_equal(features(ours)[:, :N_FEATURES], phi)
    margins = features(ours)[:, N_FEATURES:]
    assert (margins**2).sum(axis=1).mean() == pytest.approx(share, rel=1e-4)
    np.testing.assert_allclose(margins.mean(axis=0), 0, atol=1e-5)


def test_only_rows_that_the_probe_tells_apart_grow_apart():
    """Two candidates equally far from a row: one on its side of the boundary, one beyond it."""
    angle = 0.4
    row = np.array([[np.cos(0.3), 0, np.sin(0.3)]])
    # Turned by the same angle, about the axis that the probe sees and about one it does not.
    along = np.array([[np.cos(0.3 + angle), 0, np.sin(0.3 + angle)]])
    probe = Probe(np.array([[0, 1, 0], [0, -1, 0]], dtype=np.float32), np.zeros(2, np.float32))
    across = row * np.cos(angle) + np.array([[0, np.sin(angle), 0]])
    corpus = seen(np.concatenate([row, [[0, 1, 0]], [[0, -1, 0]]]))
    pool = seen(np.concatenate([along, across]))
    before = squared(row, np.concatenate([along, across]))[0]
    assert before[0] == pytest.approx(before[1], rel=1e-6)
    ours, theirs = joined(corpus, pool, probe, margin=1.0)
    after = squared(features(ours)[:1], features(theirs))[0]
    assert after[0] == pytest.approx(before[0], rel=1e-4)
    # ‖Δm‖²: logits differ by ± sin(angle); their mean square over the corpus is (0 + 2 + 2) / 3.
    assert after[1] - before[1] == pytest.approx(2 * np.sin(angle) ** 2 / (4 / 3), rel=1e-4)


def test_a_probe_that_sees_nothing_moves_nothing(corpus, pool):
    blind = Probe(np.zeros((2, N_FEATURES), np.float32), np.zeros(2, np.float32))
    ours, theirs = joined(corpus, pool, blind, margin=1.0)
    expected = squared(features(corpus.phi), features(pool.phi))
    np.testing.assert_allclose(squared(features(ours), features(theirs)), expected, rtol=1e-5)


def test_rows_of_other_words_grow_apart(probe):
    """All vectors are equal, so that words alone decide."""
    phi = np.tile(unit_rows(1, N_FEATURES, np.random.default_rng(3)), (len(VERDICTS), 1))
    candidates = ["film dull grey", "grey film", "quick wit"]
    ours, theirs = joined(
        seen(phi, VERDICTS), seen(phi[: len(candidates)], candidates), probe, lexical=0.5
    )
    same, near, other = squared(features(ours)[:1], features(theirs))[0]
    assert same == pytest.approx(0, abs=1e-5)
    assert 0.01 < near < other
    assert other == pytest.approx(2 * 0.5, rel=1e-4)  # no word in common: √2 apart, times √s


def test_words_that_the_corpus_lacks_tell_nothing(probe):
    phi = np.tile(unit_rows(1, N_FEATURES, np.random.default_rng(3)), (len(VERDICTS), 1))
    ours, theirs = joined(seen(phi, VERDICTS), seen(phi[:1], ["zebra"]), probe, lexical=2.0)
    np.testing.assert_allclose(squared(features(ours), features(theirs)), 2.0, rtol=1e-4)
    assert np.isfinite(features(theirs)).all()


def test_of_pairs_both_texts_count(probe):
    phi = np.tile(unit_rows(1, N_FEATURES, np.random.default_rng(3)), (len(VERDICTS), 1))
    corpus = seen(phi, VERDICTS, VERDICTS[::-1])
    swapped = seen(phi[:2], [VERDICTS[0], VERDICTS[-1]], [VERDICTS[-1], VERDICTS[0]])
    ours, theirs = joined(corpus, swapped, probe, lexical=1.0)
    right, wrong = squared(features(ours)[:1], features(theirs))[0]
    assert right == pytest.approx(0, abs=1e-5)
    assert wrong > 1


def test_both_are_joined_side_by_side(corpus, pool, probe):
    alone = [joined(corpus, pool, probe, **one) for one in ({"margin": 0.3}, {"lexical": 0.2})]
    both = joined(corpus, pool, probe, margin=0.3, lexical=0.2)
    phi = squared(features(corpus.phi), features(pool.phi))
    parts = [squared(features(ours), features(theirs)) - phi for ours, theirs in alone]
    total = squared(features(both[0]), features(both[1]))
    np.testing.assert_allclose(total, phi + sum(parts), atol=1e-4)


def test_the_same_seed_projects_alike_and_by_blocks_alike(corpus, pool, probe):
    once, again = (joined(corpus, pool, probe, lexical=1.0, lexical_dimensions=2) for _ in range(2))
    assert once[0].shape == (N_ROWS, N_FEATURES + 2)
    for one, other in zip(once, again, strict=True):
        whole = one.read(0, one.shape[0])
        np.testing.assert_array_equal(whole, other.read(0, one.shape[0]))
        np.testing.assert_array_equal(whole[7:12], one.read(7, 12))
