from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from take.rows.blocks import ArrayBlocks
from take.scoring.influence import influence_matrix
from take.scoring.scoring_inputs import ScoringError


def random_problem(n_rows, n_features, n_classes, checkpoints, seed, pairs=False):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n_rows, n_features))
    if pairs:
        u, v = rows, rng.standard_normal((n_rows, n_features))
        rows = np.hstack([u, v, np.abs(u - v), u * v])
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    weights = 4 * rng.standard_normal((checkpoints, n_classes, rows.shape[1]), dtype=np.float32)
    biases = rng.standard_normal((checkpoints, n_classes), dtype=np.float32)
    return rows, rng.integers(0, n_classes, size=n_rows), weights, biases


def closed_form(rows, labels, weights, biases, block_rows=7):
    return influence_matrix(ArrayBlocks(rows), labels, weights, biases, block_rows)


def autograd_norms(rows, labels, weights, biases):
    """One backward pass per row and checkpoint: slow, and beyond doubt."""
    import torch

    norms = np.empty((len(rows), len(weights)))
    for t in range(len(weights)):
        for n in range(len(rows)):
            head = torch.nn.Linear(rows.shape[1], weights.shape[1])
            head.weight.data = torch.from_numpy(weights[t].copy())
            head.bias.data = torch.from_numpy(biases[t].copy())
            logits = head(torch.from_numpy(rows[n : n + 1]))
            torch.nn.functional.cross_entropy(logits, torch.tensor([labels[n]])).backward()
            gradient = torch.cat([head.weight.grad.ravel(), head.bias.grad])
            norms[n, t] = gradient.norm().item()
    return norms


def vmap_norms(rows, labels, weights, biases):
    import torch
    from torch.func import grad, vmap

    def loss(head, x, y):
        return torch.nn.functional.cross_entropy(head[0] @ x + head[1], y)

    heads = (torch.from_numpy(weights), torch.from_numpy(biases))
    per_row = vmap(grad(loss), in_dims=(None, 0, 0))
    per_checkpoint = vmap(per_row, in_dims=(0, None, None), out_dims=1)
    w, b = per_checkpoint(heads, torch.from_numpy(rows), torch.from_numpy(labels))
    return (w.pow(2).sum((2, 3)) + b.pow(2).sum(2)).sqrt().numpy()


@settings(max_examples=10, deadline=None)
@given(
    n_rows=st.integers(1, 9),
    n_features=st.integers(1, 12),
    n_classes=st.integers(2, 5),
    checkpoints=st.integers(1, 4),
    seed=st.integers(0, 10_000),
    pairs=st.booleans(),
)
def test_closed_form_is_autograd_is_vmap(n_rows, n_features, n_classes, checkpoints, seed, pairs):
    problem = random_problem(n_rows, n_features, n_classes, checkpoints, seed, pairs)
    ours = closed_form(*problem)
    np.testing.assert_allclose(ours, autograd_norms(*problem), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(ours, vmap_norms(*problem), rtol=1e-5, atol=1e-5)


def test_rows_permuted_permute_the_matrix():
    rows, labels, weights, biases = random_problem(50, 8, 3, 4, seed=1)
    order = np.random.default_rng(2).permutation(50)
    np.testing.assert_allclose(
        closed_form(rows[order], labels[order], weights, biases),
        closed_form(rows, labels, weights, biases)[order],
        rtol=1e-5,
    )


@pytest.mark.parametrize("block_rows", [1, 3, 50, 1000])
def test_block_size_does_not_matter(block_rows):
    problem = random_problem(50, 8, 3, 4, seed=3)
    np.testing.assert_allclose(
        closed_form(*problem, block_rows=block_rows), closed_form(*problem), rtol=1e-5
    )


def test_number_of_threads_does_not_matter():
    threadpoolctl = pytest.importorskip("threadpoolctl")
    problem = random_problem(3000, 64, 3, 20, seed=4)
    results = []
    for threads in (1, 2):
        with threadpoolctl.threadpool_limits(threads):
            results.append(closed_form(*problem, block_rows=1024))
    np.testing.assert_allclose(results[0], results[1], rtol=1e-5)


def test_digits_survive_when_the_label_is_almost_certain():
    """1 − p_y is 1e-9 here; subtracting in float32 would give exactly zero."""
    rows = np.array([[1.0]], dtype=np.float32)
    weights = np.array([[[20.0], [0.0]]], dtype=np.float32)
    norm = closed_form(rows, np.array([0]), weights, np.zeros((1, 2), np.float32))[0, 0]
    expected = np.sqrt(2) * np.exp(-20.0) / (1 + np.exp(-20.0)) * np.sqrt(2)
    assert norm == pytest.approx(expected, rel=1e-5)


def test_huge_logits_stay_finite():
    rows, labels, weights, biases = random_problem(20, 4, 3, 2, seed=5)
    assert np.isfinite(closed_form(rows, labels, weights * 1e6, biases)).all()


def test_a_memory_map_gives_the_same(tmp_path):
    rows, labels, weights, biases = random_problem(100, 8, 3, 4, seed=6)
    np.save(tmp_path / "rows.npy", rows)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    np.testing.assert_array_equal(
        closed_form(mapped, labels, weights, biases), closed_form(rows, labels, weights, biases)
    )


def test_all_zero_gradients_are_refused_with_their_checkpoint():
    rows = np.ones((2, 1), dtype=np.float32)
    weights = np.array([[[0.0], [0.0]], [[1000.0], [-1000.0]]], dtype=np.float32)
    with pytest.raises(ScoringError, match=r"checkpoint 1: every gradient is zero.*learning_rate"):
        closed_form(rows, np.array([0, 0]), weights, np.zeros((2, 2), np.float32))
