"""What scoring found, as numbers, names and Plotly figures: for JSON, MLflow and the report.

Holds no text of the corpus.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from pydantic import BaseModel

from take.rows.arrays import Float64, Int64
from take.scoring.diagnostics import StudyReport
from take.scoring.scorers import ScoredCorpus
from take.scoring.trajectory import ProbeTrajectory

HISTOGRAM_BINS = 50
_BLUE, _ORANGE, _GREY = "#3b6ea5", "#d98c3f", "#9a9a9a"


@dataclass(frozen=True)
class ExtremeRows:
    """The rows of one class that weigh most and least, heaviest and lightest first."""

    label: int
    highest: Int64
    lowest: Int64


def rank_correlation(first: Float64, second: Float64) -> float:
    """Spearman's ρ, e.g. of weights and text lengths, which shows a score that follows length.

    >>> round(rank_correlation(np.array([1.0, 2.0, 3.0]), np.array([10.0, 20.0, 40.0])), 6)
    1.0
    """
    from scipy.stats import rankdata

    # Not scipy's spearmanr, whose last digit differs from reports made before.
    ranks = [rankdata(values) for values in (first, second)]
    if any(np.ptp(rank) == 0 for rank in ranks):
        return 0.0  # a constant has no order to agree with
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def class_shares(weights: Float64, labels: Int64, n_classes: int) -> Float64:
    """Mass of each class under the weights.

    >>> class_shares(np.array([0.5, 0.25, 0.25]), np.array([0, 1, 1]), 2).tolist()
    [0.5, 0.5]
    """
    shares = np.bincount(labels, weights=weights, minlength=n_classes)
    return shares.astype(np.float64)


def extreme_rows(weights: Float64, labels: Int64, count: int = 10) -> list[ExtremeRows]:
    """Return for each class the rows with the highest and the lowest weights.

    >>> extreme_rows(np.array([0.1, 0.2, 0.7]), np.array([0, 0, 1]), count=1)[0]
    ExtremeRows(label=0, highest=array([1]), lowest=array([0]))
    """
    extremes = []
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        ascending = rows[np.argsort(weights[rows], kind="stable")]
        extremes.append(ExtremeRows(int(label), ascending[::-1][:count], ascending[:count]))
    return extremes


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
        cls,
        scored: ScoredCorpus,
        trajectory: ProbeTrajectory,
        labels: Int64,
        label_names: list[str],
        lengths: Int64,
        kernel: str,
        decay: float,
    ) -> ScoringReport:
        """Gather the report on one scored corpus."""
        n_classes = len(label_names)
        uniform = np.full(len(labels), 1 / len(labels))
        counts, edges = np.histogram(scored.weights * len(labels), bins=HISTOGRAM_BINS)
        return cls(
            scorer=scored.scorer,
            kernel=kernel,
            decay=decay,
            weights=asdict(scored.report),
            probe={
                name: np.asarray(getattr(trajectory, name)).tolist()
                for name in (
                    "train_accuracy",
                    "train_loss",
                    "validation_accuracy",
                    "validation_loss",
                )
            },
            class_share=_by_name(class_shares(uniform, labels, n_classes), label_names),
            weight_share=_by_name(class_shares(scored.weights, labels, n_classes), label_names),
            length_correlation=rank_correlation(scored.weights, lengths.astype(np.float64)),
            histogram_edges=edges.tolist(),
            histogram_counts=counts.tolist(),
        )


def _by_name(shares: Float64, names: list[str]) -> dict[str, float]:
    return {name: float(share) for name, share in zip(names, shares, strict=True)}


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
