from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from take.rows.blocks import ArrayBlocks
from take.scoring import self_influence
from take.scoring.scoring_inputs import ScoringError, ScoringSettings
from take.scoring.self_influence import (
    dense_self_influence,
    eigenvalue_corrected_self_influence,
    fit_eigenbasis,
    kronecker_self_influence,
)
from take.scoring.trajectory import train_probe

FORMS = [dense_self_influence, kronecker_self_influence, eigenvalue_corrected_self_influence]


@pytest.fixture(scope="module")
def probe(corpus):
    return train_probe(corpus.features, corpus.labels, 3, corpus.settings)


def explicit_hessian_and_gradients(corpus, probe):
    """Autograd's Hessian of the mean loss and gradient of each row, in float64."""
    import torch

    x = torch.from_numpy(np.hstack([corpus.rows, np.ones((600, 1))])).double()
    y = torch.from_numpy(corpus.labels)
    head = np.hstack([probe.weights[-1], probe.biases[-1][:, None]])
    theta = torch.from_numpy(head).double().ravel()

    def losses(theta):
        logits = x @ theta.reshape(3, -1).T
        return torch.nn.functional.cross_entropy(logits, y, reduction="none")

    H = torch.func.hessian(lambda theta: losses(theta).mean())(theta)
    gradients = torch.func.jacrev(losses)(theta)
    return H.numpy(), gradients.numpy()


def test_dense_is_equation_5_by_autograd(corpus, probe):
    H, gradients = explicit_hessian_and_gradients(corpus, probe)
    alpha = 0.1 * np.trace(H) / len(H)
    damped = H + alpha * np.eye(len(H))
    expected = np.einsum("np,pq,nq->n", gradients, np.linalg.inv(damped), gradients)
    ours = dense_self_influence(corpus.features, corpus.labels, probe, 0.1, block_rows=100)
    np.testing.assert_allclose(ours.values, expected, rtol=1e-3)
    spectrum = np.linalg.eigvalsh(damped)
    assert ours.largest_eigenvalue == pytest.approx(spectrum[-1], rel=1e-3)
    assert ours.smallest_eigenvalue == pytest.approx(spectrum[0], rel=1e-3)


def test_spectral_bounds_of_proposition_1(corpus, probe):
    """‖∇‖² / λ_max ≤ I_self ≤ ‖∇‖² / λ_min, the step on which its proof rests."""
    _, gradients = explicit_hessian_and_gradients(corpus, probe)
    squares = (gradients**2).sum(axis=1)
    for form in FORMS:
        ours = form(corpus.features, corpus.labels, probe, 0.1, block_rows=100)
        assert (ours.values >= squares / ours.largest_eigenvalue * (1 - 1e-3)).all()
        assert (ours.values <= squares / ours.smallest_eigenvalue * (1 + 1e-3)).all()


def test_kronecker_form_is_the_inverse_of_the_product(corpus, probe):
    _, gradients = explicit_hessian_and_gradients(corpus, probe)
    rows = np.hstack([corpus.rows, np.ones((600, 1))])
    p = np.exp(corpus.rows @ probe.weights[-1].T + probe.biases[-1])
    p /= p.sum(axis=1, keepdims=True)
    G, A = np.diag(p.mean(axis=0)) - p.T @ p / 600, rows.T @ rows / 600
    G, A = (m + 0.1**0.5 * np.trace(m) / len(m) * np.eye(len(m)) for m in (G, A))
    expected = np.einsum("np,pq,nq->n", gradients, np.linalg.inv(np.kron(G, A)), gradients)
    ours = kronecker_self_influence(corpus.features, corpus.labels, probe, 0.1, 100)
    np.testing.assert_allclose(ours.values, expected, rtol=1e-3)


def three_hessians(rows, probe):
    """The Fisher matrix as the mean of its rows' own, K-FAC's and EKFAC's; undamped, (C (d+1))²."""
    x = np.hstack([rows, np.ones((len(rows), 1))]).astype(np.float64)
    p = np.exp(rows @ probe.weights[-1].T + probe.biases[-1]).astype(np.float64)
    p /= p.sum(axis=1, keepdims=True)
    S = p[:, :, None] * (np.eye(p.shape[1]) - p[:, None, :])
    fisher = np.mean([np.kron(s, np.outer(a, a)) for s, a in zip(S, x, strict=True)], axis=0)
    basis = fit_eigenbasis(ArrayBlocks(rows), probe, block_rows=100)
    vectors = np.kron(basis.outputs, basis.inputs)
    ekfac = vectors * basis.eigenvalues.T.ravel() @ vectors.T
    return fisher, np.kron(S.mean(axis=0), x.T @ x / len(x)), ekfac


def error(approximation, H):
    return np.linalg.norm(approximation - H) / np.linalg.norm(H)


def test_ekfac_is_nearer_to_the_hessian_than_kfac(corpus, probe):
    fisher, kfac, ekfac = three_hessians(corpus.rows, probe)
    H, _ = explicit_hessian_and_gradients(corpus, probe)
    np.testing.assert_allclose(fisher, H, atol=1e-6)
    assert error(ekfac, H) < error(kfac, H)
    assert np.trace(ekfac) == pytest.approx(np.trace(H), rel=1e-5)
    # The best diagonal in its basis: what is left of H has none there.
    basis = fit_eigenbasis(corpus.features, probe, block_rows=100)
    vectors = np.kron(basis.outputs, basis.inputs)
    np.testing.assert_allclose(np.diag(vectors.T @ (H - ekfac) @ vectors), 0, atol=1e-6)


def test_with_one_feature_and_two_classes_ekfac_is_exact_and_kfac_is_not():
    """Each row then lies along one eigenvector of each factor."""
    rows = np.repeat(np.array([[1.0], [-1.0]], dtype=np.float32), [70, 30], axis=0)
    labels = np.arange(100) % 5 // 4
    labels[70:] = np.arange(30) % 2  # rows at 1 are surer than those at −1
    settings = ScoringSettings(checkpoints=3, epochs=40, batch_size=20)
    probe = train_probe(ArrayBlocks(rows), labels, 2, settings)
    H, kfac, ekfac = three_hessians(rows, probe)
    assert error(ekfac, H) < 1e-5
    assert error(kfac, H) > 0.01
    dense, corrected = (
        form(ArrayBlocks(rows), labels, probe, 0.1, block_rows=30)
        for form in (dense_self_influence, eigenvalue_corrected_self_influence)
    )
    np.testing.assert_allclose(corrected.values, dense.values, rtol=1e-4)
    assert corrected.largest_eigenvalue == pytest.approx(dense.largest_eigenvalue, rel=1e-4)


def test_with_the_same_probabilities_for_every_row_all_three_agree(corpus, probe):
    """θ_0 is zero: then S is one matrix, H is a Kronecker product, and no approximation is left."""
    start = replace(probe, weights=probe.weights[:1], biases=probe.biases[:1])
    H, kfac, ekfac = three_hessians(corpus.rows, start)
    assert max(error(kfac, H), error(ekfac, H)) < 1e-5


def test_eigenvalue_corrected_form_is_the_inverse_of_its_matrix(corpus, probe):
    _, gradients = explicit_hessian_and_gradients(corpus, probe)
    _, _, ekfac = three_hessians(corpus.rows, probe)
    damped = ekfac + 0.1 * np.trace(ekfac) / len(ekfac) * np.eye(len(ekfac))
    expected = np.einsum("np,pq,nq->n", gradients, np.linalg.inv(damped), gradients)
    args = (corpus.features, corpus.labels, probe, 0.1, 100)
    ours = eigenvalue_corrected_self_influence(*args)
    np.testing.assert_allclose(ours.values, expected, rtol=1e-3)
    # Nearer to the exact scores, too, up to K-FAC's own scale of damping.
    exact, kfac = (form(*args).values for form in FORMS[:2])
    scatter = [np.std(np.log(values / exact)) for values in (ours.values, kfac)]
    assert scatter[0] < scatter[1]


@pytest.mark.parametrize("form", FORMS)
def test_block_size_does_not_matter(corpus, probe, form):
    whole = form(corpus.features, corpus.labels, probe, 0.1, block_rows=600).values
    blocks = form(corpus.features, corpus.labels, probe, 0.1, block_rows=37).values
    np.testing.assert_allclose(blocks, whole, rtol=1e-3)


def test_a_head_too_large_for_the_dense_form_is_refused(corpus, probe, monkeypatch):
    monkeypatch.setattr(self_influence, "MAX_DENSE_PARAMETERS", 50)
    with pytest.raises(ScoringError, match=r"51 parameters.*influence_self_ekfac"):
        dense_self_influence(corpus.features, corpus.labels, probe, 0.1, 100)
