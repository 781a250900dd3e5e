"""How a search went, as a Plotly figure without texts."""

from __future__ import annotations

from typing import Any

from take.selection.report import SelectionReport

_BLUE, _ORANGE, _GREY = "#3b6ea5", "#d98c3f", "#8a8a8a"


def search_figure(report: SelectionReport) -> Any:
    """The panel's loss on exam rows, which the search lowers, and on watched rows, which judge."""
    from plotly.graph_objects import Figure, Scatter
    from plotly.subplots import make_subplots

    if not report.steps:
        figure = Figure()
        figure.add_annotation(text=f"`{report.selector}` does not search", showarrow=False)
        return figure.update_layout(template="plotly_white")
    sweeps = [step.sweep for step in report.steps]
    figure = make_subplots(
        rows=1,
        cols=2,
        subplot_titles=(
            "loss of the learners taught with the rows",
            "rows exchanged, and watched rows got right",
        ),
        specs=[[{}, {"secondary_y": True}]],
    )
    lines = (
        ("exam rows: what the search lowers", [s.exam_loss_after for s in report.steps], _BLUE),
        (
            "watched rows: choose the sweep",
            [s.watched_loss for s in report.steps],
            _ORANGE,
        ),
    )
    for name, values, colour in lines:
        figure.add_trace(
            Scatter(x=sweeps, y=values, name=name, mode="lines+markers", line_color=colour), 1, 1
        )
    figure.add_bar(
        x=sweeps,
        y=[step.swaps for step in report.steps],
        name="rows exchanged",
        marker_color=_GREY,
        row=1,
        col=2,
    )
    figure.add_trace(
        Scatter(
            x=sweeps,
            y=[100 * step.watched_accuracy for step in report.steps],
            name="watched rows got right, %",
            mode="lines+markers",
            line_color=_ORANGE,
            line_dash="dot",
        ),
        row=1,
        col=2,
        secondary_y=True,
    )
    figure.update_xaxes(title_text="sweep over all positions (0: the start, by transport)", dtick=1)
    figure.update_yaxes(title_text="cross-entropy, weighted by κ", row=1, col=1)
    figure.update_yaxes(title_text="rows", row=1, col=2, secondary_y=False)
    figure.update_yaxes(title_text="%", row=1, col=2, secondary_y=True, showgrid=False)
    first, best = report.steps[0], min(report.steps, key=lambda step: step.watched_loss)
    after, before = 100 * best.watched_accuracy, 100 * first.watched_accuracy
    headline = (
        f"Taught with the rows of sweep {best.sweep}, learners get {after:.1f} % of watched rows "
        f"right, by weight; with those transport chose, {before:.1f} %"
    )
    return figure.update_layout(
        template="plotly_white", title=headline, legend={"orientation": "h", "y": -0.25}
    )
