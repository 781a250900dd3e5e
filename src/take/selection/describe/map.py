"""Coordinates of the coverage map: corpus, pool and distilled rows in the plane of most variance.

Both drawings, the Plotly figure and the one in the audit report, read this table. It holds no text.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from take.rows.arrays import Float32, Int64
from take.rows.random import rng
from take.selection.describe.lineage import Distillation, Traced
from take.selection.describe.regions import principal_plane
from take.transport.exact import draw_by_weight, read_rows

_CORPUS_ROWS = 3000
_POOL_ROWS = 3000
_LINKS = 150


def map_coordinates(distillation: Distillation, traced: Traced, seed: int = 0) -> pd.DataFrame:
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
        ).assign(mass=traced.assigned, rows=traced.rows),
    ]
    parts[1].loc[linked, "target"] = traced.main_target[sampled[linked]]
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
