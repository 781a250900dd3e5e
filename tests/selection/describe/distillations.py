"""Small distillations, whose distances can be computed at once."""

from __future__ import annotations

import numpy as np
import pandas as pd

from take.rows.blocks import ArrayBlocks
from take.selection.describe.distillation import Distillation

NAMES = ["red", "green", "blue"]


def unit(points):
    return (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32)


def make_distillation(n_rows=240, n_pool=60, per_class=4, scope="class", seed=0) -> Distillation:
    """Three classes in clusters on the sphere that overlap; labels alternate, as if shuffled."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((3, 4, 8)) + 0.7 * rng.standard_normal((3, 1, 8))

    def draw(count):
        labels = np.arange(count) % 3
        points = centres[labels, rng.integers(0, 4, count)]
        return unit(points + 0.5 * rng.standard_normal((count, 8))), labels

    (rows, labels), (pool, pool_labels) = draw(n_rows), draw(n_pool)
    weights = rng.gamma(1.0, 1.0, n_rows)
    chosen = np.concatenate(
        [rng.permutation(np.flatnonzero(pool_labels == label))[:per_class] for label in range(3)]
    )
    weights /= weights.sum()
    chosen = rng.permutation(chosen)
    return Distillation(ArrayBlocks(rows), weights, labels, pool, pool_labels, chosen, scope)


def rows_of(made):
    return made.corpus.read(0, len(made.labels))


def distances_of(made):
    """‖φ(z_n) − φ(z̃_c)‖, dense and in fp64."""
    rows, targets = rows_of(made).astype(np.float64), made.targets.astype(np.float64)
    return np.linalg.norm(rows[:, None] - targets[None], axis=2)


def tables_of(made, pair=False):
    """A corpus and a distilled table whose texts can be recognised."""

    def table(prefix, labels):
        numbers = range(len(labels))
        texts = {"text": [f"{prefix} secret {i}" for i in numbers]}
        if pair:
            texts = {f"text_{ab}": [f"{prefix} secret {ab} {i}" for i in numbers] for ab in "ab"}
        names = [NAMES[label] for label in labels]
        ids = [f"{prefix}-{i}" for i in numbers]
        return pd.DataFrame({"id": ids, **texts, "label": labels, "label_name": names})

    corpus, distilled = table("train", made.labels), table("made", made.target_labels)
    # An index that is not 0 … n−1 must not matter.
    corpus.index = corpus.index[::-1]
    return corpus, distilled.assign(weight=1.0)
