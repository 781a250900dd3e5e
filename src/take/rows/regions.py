"""Regions of rows that are far from all references, in numbers and by example."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from take.rows.arrays import Float32, Int64
from take.rows.labelled import TEXT_COLUMNS, task_of
from take.rows.nearest import Nearest

# The farthest rows are clustered in memory: 20,000 rows of 1,536 features are 120 MB.
_MOST_ROWS = 20_000


class Region(NamedTuple):
    """Rows that are close to each other and far from all references."""

    rows: Int64  # ascending
    central: Int64  # the same rows, the most central first
    share: float  # of all rows considered
    distance: float  # mean distance to the nearest reference


def far_regions(
    distance: Float32,
    rows: Int64,
    features: Callable[[Int64], Float32],
    share: float,
    most_regions: int,
    seed: int,
) -> list[Region]:
    """The `share` of `rows` with the largest distance, in a few regions by k-means, worst first.

    `distance` is that of every row to its nearest reference; `features` reads some rows.

    >>> points = np.array([[0, 0], [9, 0], [9, 1], [0, 5]], dtype=np.float32)
    >>> distance = np.linalg.norm(points, axis=1)
    >>> far = far_regions(distance, np.arange(4), points.__getitem__, 0.7, most_regions=2, seed=0)
    >>> [(region.rows.tolist(), round(region.distance, 2)) for region in far]
    [([1, 2], 9.03), ([3], 5.0)]
    """
    n_far = min(max(1, round(share * len(rows))), _MOST_ROWS)
    far = np.sort(rows[np.argsort(-distance[rows], kind="stable")[:n_far]])
    vectors = features(far)
    # KMeans warns where rows repeat so often that there are fewer distinct ones than clusters.
    n_regions = min(most_regions, len(np.unique(vectors, axis=0)))
    labels = k_means(vectors, n_regions, seed).labels_
    regions = []
    for label in np.unique(labels):
        part = np.flatnonzero(labels == label)
        from_centre = np.linalg.norm(vectors[part] - vectors[part].mean(axis=0), axis=1)
        central = far[part[np.argsort(from_centre, kind="stable")]]
        mean = float(distance[far[part]].mean())
        regions.append(Region(far[part], central, len(part) / len(rows), mean))
    return sorted(regions, key=lambda region: -region.distance)


def region_table(
    regions: Sequence[Region],
    figures: Sequence[Mapping[str, float]],
    rows: pd.DataFrame,
    references: pd.DataFrame,
    nearest: Nearest,
    examples: int,
) -> pd.DataFrame:
    """The most central rows of each region next to their nearest references.

    `figures` are what is known of each region: columns `region_<name>`. Then id, label_name, texts
    and distance of the rows, and the same columns of the references as `closest_<name>`.
    """
    columns = ["id", "label_name", *TEXT_COLUMNS[task_of(rows)]]
    tables = []
    for number, (region, known) in enumerate(zip(regions, figures, strict=True), start=1):
        shown = region.central[:examples]
        table = rows[columns].iloc[shown].reset_index(drop=True)
        table["distance"] = nearest.distance[shown]
        closest = references[columns].iloc[nearest.row[shown]].reset_index(drop=True)
        table = table.join(closest.add_prefix("closest_"))
        for place, (name, value) in enumerate(known.items()):
            table.insert(place, f"region_{name}", value)
        table.insert(0, "region", number)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def k_means(features: Float32, n_clusters: int, seed: int) -> Any:
    """A fitted `sklearn.cluster.KMeans`, the same for the same seed.

    Five random starts as in the package of MAUVE's authors: k-means++ finds tighter clusters and
    with them another MAUVE (0.62 instead of 0.50 – 0.53), not comparable with published ones.
    One thread: with several, sums are added in the order in which threads finish.
    """
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        return KMeans(n_clusters, init="random", n_init=5, random_state=seed).fit(features)
