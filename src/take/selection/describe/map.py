"""Coordinates of the coverage map: corpus, pool and distilled rows in the plane of most variance.

Both drawings, the Plotly figure and the one in the audit report, read this table. It holds no text.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from take.rows.arrays import Float32, Int64
from take.rows.random import rng
from take.selection.describe.distillation import Distillation
from take.selection.describe.lineage import Lineage
from take.transport.exact import draw_by_weight, read_rows

_CORPUS_ROWS = 3000
_POOL_ROWS = 3000
_LINKS = 150


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


def map_coordinates(distillation: Distillation, lineage: Lineage, seed: int = 0) -> pd.DataFrame:
    """A row per point of the map.

    Columns: `kind` (pool, corpus or distilled), `x` and `y`, `label`, `row` (its position in the
    table of that kind), `target` (of some corpus rows, the distilled row each is assigned to; else
    −1), `mass` and `rows` (of distilled rows, the share of the corpus's weight and the number of
    training rows assigned to each; else 0), `share_x` and `share_y` (of the variance, in every
    row). Corpus rows are a sample by weight.
    """
    random = rng(seed, "map sample")
    sampled, _ = draw_by_weight(distillation.weights, _CORPUS_ROWS, seed)
    corpus = read_rows(distillation.corpus, sampled)
    plane = principal_plane(corpus)
    pool = np.sort(random.permutation(len(distillation.pool))[:_POOL_ROWS])
    linked = np.sort(random.permutation(len(sampled))[:_LINKS])
    parts = [
        _points("pool", plane.project(distillation.pool[pool]), distillation.pool_labels, pool),
        _points("corpus", plane.project(corpus), distillation.labels, sampled),
        _points(
            "distilled",
            plane.project(distillation.targets),
            distillation.target_labels,
            np.arange(len(distillation.chosen)),
        ).assign(mass=lineage.assigned, rows=lineage.rows),
    ]
    parts[1].loc[linked, "target"] = lineage.main_target[sampled[linked]]
    share_x, share_y = plane.shares
    return pd.concat(parts, ignore_index=True).assign(share_x=share_x, share_y=share_y)


def _points(kind: str, places: Float32, labels: Int64, rows: Int64) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "kind": kind,
            "x": places[:, 0],
            "y": places[:, 1],
            "label": labels[rows].astype(np.int64),
            "row": rows.astype(np.int64),
            "target": np.full(len(rows), -1, dtype=np.int64),
            "mass": np.zeros(len(rows)),
            "rows": np.zeros(len(rows), dtype=np.int64),
        }
    )
