"""Where corpus rows lie: how far from distilled rows, in which regions, and on a plane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from take.errors import InputError
from take.rows.arrays import Float32, Int64
from take.rows.blocks import ArrayBlocks, RowBlocks
from take.rows.kmeans import k_means
from take.rows.labelled import TEXT_COLUMNS, task_of
from take.rows.nearest import Nearest, nearest_by_class
from take.selection.describe.lineage import Distillation
from take.selection.describe.report import Region
from take.selection.selection_settings import Scope
from take.transport.exact import read_rows

# The farthest rows are clustered in memory: 20,000 rows of 1,536 features are 120 MB.
_MOST_ROWS = 20_000


class Covered(NamedTuple):
    """The distilled row nearest to each corpus row; distance infinity and row −1 where none is."""

    any_class: Nearest
    own_class: Nearest
    allowed: Nearest
    """As the scope has it: any class if global; else its own, or any where its own has none."""


class Regions(NamedTuple):
    """The regions in numbers, and by example; the table holds texts and stays local."""

    report: dict[str, Region]
    table: pd.DataFrame
    """region, region_share, region_distance, region_pool_distance, then example rows (id,
    label_name, texts, distance) and the distilled row closest to each (closest_…)."""


@dataclass(frozen=True)
class RegionOptions:
    """Which rows count as badly covered, and how they are shown."""

    share: float = 0.01  # of the corpus, farthest first
    most_regions: int = 5
    examples: int = 3  # rows shown of a region
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1 or self.most_regions < 1 or self.examples < 1:
            raise InputError(
                f"share is {self.share}, most_regions {self.most_regions}, examples "
                f"{self.examples}",
                where="least covered regions",
                allowed="a share above 0 and up to 1, and at least one region and example",
            )


def nearest_allowed(
    corpus: RowBlocks, labels: Int64, targets: Float32, target_labels: Int64, scope: Scope
) -> Covered:
    """min_c ‖φ(z_n) − φ(z̃_c)‖ and its c: over any class, over the row's own, and as allowed.

    >>> rows, labels = ArrayBlocks(np.eye(3, dtype=np.float32)), np.array([0, 1, 2])
    >>> targets = np.array([[0, 0.8, 0.6], [1, 0, 0]], dtype=np.float32)
    >>> found = nearest_allowed(rows, labels, targets, np.array([0, 1]), "class")
    >>> found.allowed.row.tolist()  # class 2 has none
    [0, 1, 0]
    """
    found = nearest_by_class(corpus, labels, targets, target_labels)
    allowed = found.any_class
    if scope == "class":
        own, has = found.own_class, found.own_class.row >= 0
        allowed = Nearest(
            np.where(has, own.distance, allowed.distance), np.where(has, own.row, allowed.row)
        )
    return Covered(found.any_class, found.own_class, allowed)


def cover(distillation: Distillation, chosen: Int64 | None = None) -> Covered:
    """How the whole corpus is covered by the distilled rows, or by another choice from the pool."""
    chosen = distillation.chosen if chosen is None else chosen
    return nearest_allowed(
        distillation.corpus,
        distillation.labels,
        distillation.pool[chosen],
        distillation.pool_labels[chosen],
        distillation.scope,
    )


def least_covered_regions(
    distillation: Distillation,
    nearest: Nearest,
    corpus_table: pd.DataFrame,
    distilled: pd.DataFrame,
    options: RegionOptions | None = None,
) -> Regions:
    """Put the rows farthest from a distilled row into a few regions by k-means on φ, worst first.

    `nearest` is the distilled row nearest to each corpus row, such as `Covered.allowed`. The
    whole pool stands beside it: it tells rows that were left out from rows nothing was written for.
    """
    options = options or RegionOptions()
    distance, n_rows = nearest.distance, len(distillation.labels)
    n_worst = min(max(1, round(options.share * n_rows)), _MOST_ROWS)
    worst = np.sort(np.argsort(-distance, kind="stable")[:n_worst])
    features = read_rows(distillation.corpus, worst)
    labels = distillation.labels[worst]
    pool = nearest_allowed(
        ArrayBlocks(features),
        labels,
        distillation.pool,
        distillation.pool_labels,
        distillation.scope,
    ).allowed.distance
    # k-means complains where rows repeat so often that there are fewer places than clusters.
    n_places = len(np.unique(features, axis=0))
    clusters = k_means(features, min(options.most_regions, n_places), options.seed).labels_
    members = [np.flatnonzero(clusters == i) for i in np.unique(clusters)]
    members.sort(key=lambda part: -float(distance[worst[part]].mean()))
    report, tables = {}, []
    for number, part in enumerate(members, start=1):
        region = Region(
            share=len(part) / n_rows,
            distance=float(distance[worst[part]].mean()),
            pool_distance=float(pool[part].mean()),
        )
        report[str(number)] = region
        central = np.linalg.norm(features[part] - features[part].mean(axis=0), axis=1)
        shown = worst[part[np.argsort(central, kind="stable")[: options.examples]]]
        table = _examples(shown, nearest, corpus_table, distilled)
        table.insert(0, "region", number)
        for place, (name, value) in enumerate(region, start=1):
            table.insert(place, f"region_{name}", value)
        tables.append(table)
    return Regions(report, pd.concat(tables, ignore_index=True))


class Plane(NamedTuple):
    """The two directions in which some rows differ most."""

    centre: Float32
    axes: Float32  # (2, d)
    shares: tuple[float, float]  # of the variance

    def project(self, rows: Float32) -> Float32:
        """Coordinates in the plane, (n, 2)."""
        return np.asarray((rows - self.centre) @ self.axes.T, dtype=np.float32)


def principal_plane(rows: Float32) -> Plane:
    """PCA to two dimensions; an axis points to where its largest component is positive.

    >>> plane = principal_plane(np.array([[2, 0, 0], [-2, 0, 0], [0, 1, 0]], dtype=np.float32))
    >>> plane.axes.round(3).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    centre: Float32 = rows.mean(axis=0)
    centred = (rows - centre).astype(np.float64)
    values, vectors = np.linalg.eigh(centred.T @ centred)
    axes = vectors[:, :-3:-1].T
    largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1)
    first, second = (np.maximum(values[:-3:-1], 0) / max(values.sum(), 1e-300)).tolist()
    return Plane(centre, (axes * np.sign(largest)).astype(np.float32), (first, second))


def _examples(
    rows: Int64,
    nearest: Nearest,
    corpus_table: pd.DataFrame,
    distilled: pd.DataFrame,
) -> pd.DataFrame:
    """Corpus rows beside the distilled rows closest to them."""
    columns = ["id", "label_name", *TEXT_COLUMNS[task_of(corpus_table)]]
    shown = corpus_table[columns].iloc[rows].reset_index(drop=True)
    partners = distilled[columns].iloc[nearest.row[rows]].reset_index(drop=True)
    shown["distance"] = nearest.distance[rows]
    return shown.join(partners.add_prefix("closest_"))
