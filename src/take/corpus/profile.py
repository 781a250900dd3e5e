"""A picture of a corpus: how large its classes are and how long its texts."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd


def profile_figure(corpus: pd.DataFrame, evaluation_split: pd.DataFrame) -> Any:
    """Class sizes and text lengths of both splits, as a Plotly figure. Holds no text."""
    from plotly.graph_objects import Bar, Figure
    from plotly.subplots import make_subplots

    figure: Figure = make_subplots(
        rows=1, cols=2, subplot_titles=("rows by class", "texts by length (characters)")
    )
    splits = {"train": (corpus, "#3b6ea5"), "evaluation": (evaluation_split, "#d98c3f")}
    edges = _length_edges(np.concatenate([_lengths(corpus), _lengths(evaluation_split)]))
    for split, (rows, colour) in splits.items():
        sizes = rows["label_name"].value_counts().sort_index()
        figure.add_trace(
            Bar(x=list(sizes.index), y=sizes.to_list(), name=split, marker_color=colour), 1, 1
        )
        shares = np.histogram(_lengths(rows), bins=edges)[0] / max(1, len(_lengths(rows)))
        labels = [f"{a:,}–{b:,}" for a, b in pairwise(edges)]
        figure.add_trace(
            Bar(x=labels, y=shares.tolist(), marker_color=colour, showlegend=False), 1, 2
        )
    figure.update_layout(template="plotly_white", barmode="group", legend={"orientation": "h"})
    return figure


def _lengths(rows: pd.DataFrame) -> np.ndarray[Any, np.dtype[np.int64]]:
    columns = [name for name in ("text", "text_a", "text_b") if name in rows]
    return np.array([len(text) for name in columns for text in rows[name]], dtype=np.int64)


def _length_edges(lengths: np.ndarray[Any, np.dtype[np.int64]]) -> list[int]:
    """Twelve bins between the shortest and longest text, evenly spaced on a log scale."""
    edges = np.geomspace(max(1, lengths.min()), lengths.max() + 1, 13)
    return sorted({round(edge) for edge in edges} | {int(lengths.max()) + 1})
