"""MAUVE: how different two sets of texts are, by what one has and the other lacks.

K. Pillutla et al., "MAUVE: Measuring the Gap Between Neural Text and Human Text using Divergence
Frontiers", NeurIPS 2021. By hand, from the paper: the authors' package is GPL and needs faiss.
"""

from __future__ import annotations

import numpy as np

from take.rows.arrays import Float32, Float64
from take.rows.regions import k_means

SCALING = 5.0  # c of the paper
_EXPLAINED_VARIANCE = 0.9
_ROWS_PER_CLUSTER = 10
_CURVE_POINTS = 25
_EDGE = 1e-6


def mauve(pool: Float32, corpus: Float32, seed: int) -> float:
    """MAUVE of two equally large samples of unit-length features, in (0, 1]; 1 is "no difference".

    Both samples are reduced together by PCA (to 90 % of the variance) and cut into n / 10 clusters
    by k-means; P and Q are their shares in each cluster; then `divergence_frontier_area`. Two
    samples of one source stay below 1 by chance: compare MAUVE with that value only.

    >>> rng = np.random.default_rng(0)
    >>> rows = rng.standard_normal((200, 8)).astype(np.float32)
    >>> rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    >>> mauve(rows, rows, seed=0) > mauve(rows[:100], rows[100:], seed=0) > mauve(rows, -rows**2, 0)
    True
    """
    from sklearn.decomposition import PCA

    features = np.concatenate([pool, corpus])
    reduced = PCA(_EXPLAINED_VARIANCE, svd_solver="full").fit_transform(features)
    n_clusters = max(2, round(min(len(pool), len(corpus)) / _ROWS_PER_CLUSTER))
    clusters = k_means(reduced, n_clusters, seed).labels_
    p, q = (
        np.bincount(part, minlength=n_clusters) / len(part)
        for part in (clusters[: len(pool)], clusters[len(pool) :])
    )
    return divergence_frontier_area(p, q)


def divergence_frontier_area(p: Float64, q: Float64, scaling: float = SCALING) -> float:
    """Area under {(exp(−c KL(Q‖R_λ)), exp(−c KL(P‖R_λ))) : R_λ = λP + (1−λ)Q, 0 < λ < 1}.

    KL(Q‖R_λ) grows with what Q has and P lacks, KL(P‖R_λ) with the reverse.

    >>> divergence_frontier_area(np.array([0.5, 0.5]), np.array([0.5, 0.5]))
    1.0
    >>> round(divergence_frontier_area(np.array([1.0, 0.0]), np.array([0.0, 1.0])), 3)
    0.004
    """
    curve = [(0.0, 1.0)]
    for weight in np.linspace(1 - _EDGE, _EDGE, _CURVE_POINTS):
        mixture = weight * p + (1 - weight) * q
        curve.append((_closeness(q, mixture, scaling), _closeness(p, mixture, scaling)))
    curve.append((1.0, 0.0))
    x, y = np.array(curve).T
    return float(np.trapezoid(y, x))


def _closeness(part: Float64, mixture: Float64, scaling: float) -> float:
    """exp(−c KL(part‖mixture)); the mixture is positive wherever the part is."""
    present = part > 0
    divergence = float(part[present] @ np.log(part[present] / mixture[present]))
    return float(np.exp(-scaling * divergence))
