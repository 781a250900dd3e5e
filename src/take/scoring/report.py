"""What scoring found, as numbers, names and Plotly figures: for JSON, MLflow and the report.

Holds no text of the corpus.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from pydantic import BaseModel

from take.rows.arrays import Float64, Int64
from take.rows.labelled import class_ids
from take.scoring.diagnostics import StudyReport, rank_correlation
from take.scoring.scorers import Evidence, ScoredCorpus

HISTOGRAM_BINS = 50
_BLUE, _ORANGE, _GREY = "#3b6ea5", "#d98c3f", "#9a9a9a"


def class_shares(weights: Float64, labels: Int64, names: Sequence[str]) -> dict[str, float]:
    """Weight of each class.

    >>> class_shares(np.array([0.5, 0.25, 0.25]), np.array([0, 1, 1]), ["ham", "spam"])
    {'ham': 0.5, 'spam': 0.5}
    """
    shares = np.bincount(labels, weights=weights, minlength=len(names))
    return {name: float(share) for name, share in zip(names, shares, strict=True)}


def extreme_rows(corpus: pd.DataFrame, weights: Float64, count: int = 10) -> pd.DataFrame:
    """The rows of each class with the highest and the lowest weights.

    >>> corpus = pd.DataFrame({"label": [0, 0, 1], "text": ["a", "b", "c"]})
    >>> extreme_rows(corpus, np.array([0.25, 0.25, 0.5]), count=1)["text"].tolist()
    ['b', 'a', 'c', 'c']
    """
    labels, parts = class_ids(corpus), []
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        ascending = rows[np.argsort(weights[rows], kind="stable")]
        extremes = {"highest": ascending[::-1][:count], "lowest": ascending[:count]}
        for kind, chosen in extremes.items():
            times_n = weights[chosen] * len(weights)
            parts.append(corpus.iloc[chosen].assign(extreme=kind, weight_times_n=times_n))
    return pd.concat(parts, ignore_index=True)


class ScoringReport(BaseModel):
    """The weights: how far from uniform, what floor and cap changed, which rows they favour."""

    scorer: str
    kernel: str
    decay: float
    weights: dict[str, Any]
    probe: dict[str, list[float]]
    """Accuracy and loss by checkpoint, on the corpus and on the validation rows."""
    class_share: dict[str, float]
    weight_share: dict[str, float]
    length_correlation: float
    """Spearman's ρ of weight and text length; far from 0, the score follows length."""
    histogram_edges: list[float]
    """Of the weights, in multiples of 1/N."""
    histogram_counts: list[int]

    @classmethod
    def of(
        cls, scored: ScoredCorpus, evidence: Evidence, label_names: Sequence[str], lengths: Int64
    ) -> ScoringReport:
        """The report on one scored corpus with texts of these lengths."""
        labels, kernel = evidence.labels, evidence.settings.kernel
        uniform = np.full(len(labels), 1 / len(labels))
        counts, edges = np.histogram(scored.weights * len(labels), bins=HISTOGRAM_BINS)
        curves = ("train_accuracy", "train_loss", "validation_accuracy", "validation_loss")
        return cls(
            scorer=scored.scorer,
            kernel=kernel if isinstance(kernel, str) else "custom",
            decay=evidence.decay,
            weights=asdict(scored.report),
            probe={name: getattr(evidence.trajectory, name).tolist() for name in curves},
            class_share=class_shares(uniform, labels, label_names),
            weight_share=class_shares(scored.weights, labels, label_names),
            length_correlation=rank_correlation(scored.weights, lengths.astype(np.float64)),
            histogram_edges=edges.tolist(),
            histogram_counts=counts.tolist(),
        )


def trajectory_figure(report: ScoringReport, study: StudyReport) -> Any:
    """Does the probe still generalise, and does it memorise? Both along the checkpoints."""
    from plotly.graph_objects import Figure, Scatter
    from plotly.subplots import make_subplots

    titles = ("probe accuracy", "probe loss", f"noisy copy, T_m = {study.onset}")
    figure: Figure = make_subplots(rows=1, cols=3, subplot_titles=titles)
    curves = (
        ("corpus", report.probe["train_accuracy"], _BLUE, 1),
        ("validation rows", report.probe["validation_accuracy"], _ORANGE, 1),
        ("loss, corpus", report.probe["train_loss"], _BLUE, 2),
        ("loss, validation rows", report.probe["validation_loss"], _ORANGE, 2),
        ("gradient norm, flipped labels", study.flipped_norms, _ORANGE, 3),
        ("gradient norm, other rows", study.clean_norms, _BLUE, 3),
    )
    for name, values, colour, column in curves:
        line = {"color": colour, "dash": ("solid", "dash", "dot")[column - 1]}
        figure.add_trace(
            Scatter(x=list(range(len(values))), y=values, name=name, line=line), 1, column
        )
    figure.update_xaxes(title_text="checkpoint")
    figure.update_layout(template="plotly_white", legend={"orientation": "h", "y": -0.2})
    return figure


def weights_figure(report: ScoringReport, study: StudyReport) -> Any:
    """How rows are weighted, which classes gain, and which scorer sees wrong labels."""
    from plotly.graph_objects import Bar, Figure
    from plotly.subplots import make_subplots

    titles = ("weight × N", "class share", "AUC, flipped labels")
    figure: Figure = make_subplots(rows=1, cols=3, subplot_titles=titles)
    edges, counts = report.histogram_edges, report.histogram_counts
    middles = [(low + high) / 2 for low, high in pairwise(edges)]
    figure.add_trace(Bar(x=middles, y=counts, marker_color=_BLUE, showlegend=False), 1, 1)
    names = list(report.class_share)
    for title, shares, colour in (
        ("of rows", report.class_share, _GREY),
        ("of weight", report.weight_share, _BLUE),
    ):
        values = [shares[name] for name in names]
        figure.add_trace(Bar(x=names, y=values, name=title, marker_color=colour), 1, 2)
    scorers = sorted(study.auc, key=lambda name: -study.auc[name])
    auc = [study.auc[name] for name in scorers]
    figure.add_trace(Bar(x=scorers, y=auc, marker_color=_ORANGE, showlegend=False), 1, 3)
    figure.add_hline(y=0.5, line_dash="dot", line_color=_GREY, row=1, col=3)
    figure.update_layout(template="plotly_white", barmode="group", legend={"orientation": "h"})
    return figure
