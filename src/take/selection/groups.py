"""The groups of corpus rows within which a prior coupling keeps transport."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from take.errors import InputError
from take.rows.arrays import Float32, Float64, Int64
from take.rows.blocks import RowBlocks, map_blocks, rows_at
from take.rows.labelled import LabelledRows
from take.rows.nearest import nearest
from take.selection.centres import weighted_centres
from take.selection.selection_settings import CouplingSettings, Scope
from take.transport.costs import squared_distances
from take.transport.coupling import Coupling, couple, group_shares

ITERATIONS = 50
BLOCK_ROWS = 2048


@dataclass(frozen=True)
class RowGroups:
    """The group of each corpus row, and how strongly transport stays within it."""

    of_row: Int64  # (N,)
    strength: float

    def couple(
        self, members: Int64, corpus: RowBlocks, weights: Float64, targets: Float32
    ) -> Coupling:
        """The prior coupling of some rows: their φ, their weights (sum 1), and the targets' φ."""
        return couple(corpus, weights, self.of_row[members], targets, self.strength)


def row_groups(
    corpus: LabelledRows, weights: Float64, scope: Scope, settings: CouplingSettings, seed: int
) -> RowGroups | None:
    """The user's column, or clusters of φ by weighted k-means; None without a coupling.

    Transport is within a class (but with the scope `global`), so each class has its own clusters:
    those of the whole corpus would be hardly more than its classes.

    >>> from take.rows.blocks import ArrayBlocks
    >>> rows = ArrayBlocks(np.eye(3, dtype=np.float32))
    >>> corpus = LabelledRows(rows, [["a", "b", "c"]], np.zeros(3, int), groups=["fr", "en", "fr"])
    >>> settings = CouplingSettings(by="group")
    >>> row_groups(corpus, np.full(3, 1 / 3), "class", settings, seed=0).of_row.tolist()
    [1, 0, 1]
    """
    if settings.by is None:
        return None
    if settings.by == "group":
        if corpus.groups is None:
            raise InputError(
                "coupling.by is 'group', and the corpus has no groups",
                where="distillation.selection.coupling",
                allowed="a corpus with columns.group, or by: clusters, or by: null",
                remedy="name the column under columns.group in corpora.yml, and run again",
            )
        return RowGroups(np.unique(corpus.groups, return_inverse=True)[1], settings.strength)
    of_row = np.zeros(len(corpus), dtype=np.int64)
    labels = corpus.labels if scope == "class" else np.zeros(len(corpus), dtype=np.int64)
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        phi, mass = rows_at(corpus.phi, members), float(weights[members].sum())
        # A class without weight is not transported; its rows need a group all the same.
        shares = weights[members] / mass if mass > 0 else np.full(len(members), 1 / len(members))
        centres, *_ = weighted_centres(phi, shares, settings.clusters, ITERATIONS, seed, BLOCK_ROWS)
        of_row[members] = label * settings.clusters + _nearest_centres(phi, centres)
    return RowGroups(of_row, settings.strength)


def mass_within(
    corpus: LabelledRows, weights: Float64, targets: LabelledRows, scope: Scope, groups: RowGroups
) -> dict[str, float]:
    """Σ_n w_n q_c(g_n), c the nearest target of row n within the scope: mass that keeps its group.

    `within_groups_by_chance` is the same with a target drawn at random. Rows of a class without a
    target are left out.

    >>> from take.rows.blocks import ArrayBlocks
    >>> rows = ArrayBlocks(np.eye(2, dtype=np.float32).repeat(10, axis=0))
    >>> corpus = LabelledRows(rows, [["a"] * 20], np.zeros(20, int))
    >>> groups = RowGroups(np.arange(20) // 10, strength=0.5)
    >>> mass_within(corpus, np.full(20, 1 / 20), corpus.take(np.array([0, 10])), "class", groups)
    {'within_groups': 1.0, 'within_groups_by_chance': 0.5}
    """
    ours = corpus.labels if scope == "class" else np.zeros(len(corpus), dtype=np.int64)
    theirs = targets.labels if scope == "class" else np.zeros(len(targets), dtype=np.int64)
    names, of_row = np.unique(groups.of_row, return_inverse=True)
    phi = targets.phi.read(0, len(targets))
    nearest_share, mean_share = np.full(len(corpus), np.nan), np.full(len(corpus), np.nan)
    for label in np.intersect1d(ours, theirs):
        members, chosen = np.flatnonzero(ours == label), phi[theirs == label]
        rows, codes = rows_at(corpus.phi, members), of_row[members]
        shares = group_shares(rows, codes, len(names), chosen)
        nearest_share[members] = shares[codes, nearest(rows, chosen).row]
        mean_share[members] = shares.mean(axis=1)[codes]
    mass = np.where(np.isnan(mean_share), 0, weights)
    mass /= mass.sum()
    return {
        "within_groups": float(mass @ np.nan_to_num(nearest_share)),
        "within_groups_by_chance": float(mass @ np.nan_to_num(mean_share)),
    }


def _nearest_centres(phi: RowBlocks, centres: Float32) -> Int64:
    def closest(start: int, block: Float32) -> Int64:
        found: Int64 = squared_distances(block, centres).argmin(axis=1)
        return found

    return np.concatenate(list(map_blocks(closest, phi, BLOCK_ROWS)))
