"""A prior coupling α that prefers targets of the row's own group (the paper's appendix).

A group is a topic, a source or a language: anything that partitions the corpus rows. Targets have
no group of their own; q_c is the distribution over groups of the corpus rows near target c. With
μ(g) the weight of group g, strength s in [0, 1) and g_n the group of row n,

    a(n, c) = dα / d(μ⊗ν) = (1 − s) + s q_c(g_n) / μ(g_n).

α is a mixture of the product coupling and of "draw a target, then its group, then a row of this
group", so Σ_n w_n a(n, c) = 1: α has the target marginal ν, whichever targets are used. As
a ≥ 1 − s, no row is left without a target. a depends on the row by its group only, so it is kept as
a matrix of groups × targets, never as one of rows × targets.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from take.rows.arrays import Float32, Float64, Int64
from take.rows.blocks import RowBlocks
from take.rows.nearest import nearest_rows

NEIGHBOURS = 10  # corpus rows near a target that decide its distribution over groups


class GroupCosts(NamedTuple):
    """Costs ≥ 0 that depend on a row's group only, added to C_nc."""

    groups: Int64  # (N,) group of each row
    costs: Float32  # (G, M)

    def block(self, rows: Int64 | slice, targets: Int64 | None = None) -> Float32:
        """Those of some rows and all targets, or some, (rows, targets)."""
        costs = self.costs if targets is None else self.costs[:, targets]
        return costs[self.groups[rows]]

    def between(self, start: int, stop: int) -> GroupCosts:
        """The same of rows start … stop-1."""
        return GroupCosts(self.groups[start:stop], self.costs)

    def of_targets(self, targets: Int64) -> GroupCosts:
        """The same with some of the targets."""
        return GroupCosts(self.groups, self.costs[:, targets])

    def mean(self, weights: Float64) -> Float64:
        """Σ_n w_n of each target, (M,)."""
        mass: Float64 = np.bincount(self.groups, weights, len(self.costs)).astype(np.float64)
        means: Float64 = mass @ self.costs.astype(np.float64)
        return means


@dataclass(frozen=True)
class Coupling:
    """a(n, c) of corpus rows in groups and targets; a `Prior` of `take.transport.kernel`.

    >>> coupling = Coupling(np.array([0, 1, 0]), np.array([[1.5, 0.5], [0.5, 1.5]], np.float32))
    >>> coupling(1, 3).tolist()
    [[0.5, 1.5], [1.5, 0.5]]
    """

    groups: Int64  # (N,) group of each row
    density: Float32  # (G, M) a of a row of the group

    def __call__(self, start: int, stop: int) -> Float32:
        """The density of rows start … stop-1, (stop - start, M)."""
        return self.density[self.groups[start:stop]]

    def of_targets(self, targets: Int64) -> Coupling:
        """The same with some of the targets."""
        return replace(self, density=self.density[:, targets])

    def of_rows(self, rows: Int64) -> Coupling:
        """The same with some of the rows."""
        return replace(self, groups=self.groups[rows])

    def between(self, start: int, stop: int) -> Coupling:
        """The same of rows start … stop-1."""
        return replace(self, groups=self.groups[start:stop])

    def costs(self, epsilon: float) -> GroupCosts:
        """−ε log a as a cost, which is what the prior does in the kernel a e^{−C/ε}.

        Shifted for each row so that its best target pays nothing. A constant of a row moves no
        mass, and costs stay ≥ 0.

        >>> coupling = Coupling(np.array([0]), np.array([[2.0, 1.0]], np.float32))
        >>> coupling.costs(epsilon=0.1).costs.tolist()
        [[0.0, 0.0693...]]
        """
        logs = np.log(self.density)
        costs = epsilon * (logs.max(axis=1, keepdims=True) - logs)
        return GroupCosts(self.groups, costs.astype(np.float32))


def couple(
    corpus: RowBlocks, weights: Float64, groups: Int64, targets: Float32, strength: float
) -> Coupling:
    """a(n, c) of a weighted corpus (sum 1) in groups, and targets.

    >>> from take.rows.blocks import ArrayBlocks
    >>> points, weights = np.eye(2, dtype=np.float32), np.array([0.75, 0.25])
    >>> rows, w = ArrayBlocks(points.repeat(10, axis=0)), weights.repeat(10) / 10
    >>> coupling = couple(rows, w, np.array([5, 7]).repeat(10), points, strength=0.5)
    >>> coupling.density.tolist()  # 0.5 + 0.5 / 0.75 and 0.5 + 0.5 / 0.25 within a group
    [[1.1666..., 0.5], [0.5, 2.5]]
    """
    found, of_row = np.unique(groups, return_inverse=True)
    mass = np.bincount(of_row, weights)[:, None]
    shares = group_shares(corpus, of_row, len(found), targets)
    # The rows of a group without weight move no mass: they have no preference.
    ratio = np.divide(shares, mass, out=np.ones_like(shares), where=mass > 0)
    density = (1 - strength) + strength * ratio
    return Coupling(of_row, density.astype(np.float32))


def group_shares(corpus: RowBlocks, groups: Int64, n_groups: int, targets: Float32) -> Float64:
    """q_c(g): which groups the corpus rows near each target are of, (G, M), columns of sum 1.

    >>> from take.rows.blocks import ArrayBlocks
    >>> points = np.array([[1, 0], [0, 1], [0.8, 0.6]], dtype=np.float32)
    >>> group_shares(ArrayBlocks(points), np.array([0, 1, 1]), 2, points[:1]).round(3).tolist()
    [[0.333], [0.667]]
    """
    near = nearest_rows(targets, corpus, NEIGHBOURS)
    counts = np.zeros((n_groups, len(targets)))
    np.add.at(counts, (groups[near].T, np.arange(len(targets))), 1)
    shares: Float64 = counts / near.shape[1]
    return shares
