"""Pictures of scoring, as Plotly figures. They hold no text."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from take.scoring.report import ScoringReport, StudyReport

_BLUE, _ORANGE, _GREY = "#3b6ea5", "#d98c3f", "#9a9a9a"


def trajectory_figure(report: ScoringReport, study: StudyReport) -> Any:
    """Does the probe still generalise, and does it memorise? Both along the checkpoints."""
    from plotly.graph_objects import Figure, Scatter
    from plotly.subplots import make_subplots

    titles = ("probe accuracy", "probe loss", f"noisy copy, T_m = {study.onset}")
    figure: Figure = make_subplots(rows=1, cols=3, subplot_titles=titles)
    curves = (
        ("corpus", report.probe["train_accuracy"], _BLUE, 1),
        ("rows held out of train", report.probe["held_out_accuracy"], _ORANGE, 1),
        ("loss, corpus", report.probe["train_loss"], _BLUE, 2),
        ("loss, rows held out", report.probe["held_out_loss"], _ORANGE, 2),
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
