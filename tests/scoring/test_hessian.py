from __future__ import annotations

import numpy as np
import pytest

from take.scoring import influence
from take.scoring.influence import dense_self_influence, kronecker_self_influence
from take.scoring.scoring_inputs import ScoringError
from take.scoring.trajectory import train_probe


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
    for form in (dense_self_influence, kronecker_self_influence):
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


@pytest.mark.parametrize("form", [dense_self_influence, kronecker_self_influence])
def test_block_size_does_not_matter(corpus, probe, form):
    whole = form(corpus.features, corpus.labels, probe, 0.1, block_rows=600).values
    blocks = form(corpus.features, corpus.labels, probe, 0.1, block_rows=37).values
    np.testing.assert_allclose(blocks, whole, rtol=1e-3)


def test_a_head_too_large_for_the_dense_form_is_refused(corpus, probe, monkeypatch):
    monkeypatch.setattr(influence, "MAX_DENSE_PARAMETERS", 50)
    with pytest.raises(ScoringError, match=r"51 parameters.*influence_self_kfac"):
        dense_self_influence(corpus.features, corpus.labels, probe, 0.1, 100)
