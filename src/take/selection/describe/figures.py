"""Plotly figures of a distillation, each with its explanation. They hold no text of rows."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import Any

import numpy as np
import pandas as pd

from take.rows.arrays import Float64, Int64
from take.selection.describe.curve import BudgetCurve
from take.selection.describe.distillation import Covered

_BLUE, _ORANGE, _GREY = "#3b6ea5", "#d98c3f", "#9a9a9a"
_CLASS_COLOURS = (
    *("#3b6ea5", "#d98c3f", "#4f9a6b", "#b5495b", "#7a5fa3"),
    *("#8c6d46", "#c774a8", "#6b8e9e", "#a3a13b", "#444444"),
)
_SMALLEST, _LARGEST = 8, 30  # diameters of distilled rows, in pixels
_BARS = 60
_MOST_CLASSES = 12


def transport_figure(points: pd.DataFrame, label_names: Sequence[str]) -> Any:
    """The map of `take.selection.describe.map`: corpus, pool, distilled rows, assignments."""
    from plotly.graph_objects import Figure

    pool, corpus, distilled = (
        points[points["kind"] == kind] for kind in ("pool", "corpus", "distilled")
    )
    figure = Figure()
    name = f"pool ({len(pool):,} rows shown)"
    _points(figure, pool, name=name, marker={"color": "#b0b0b0", "size": 4, "opacity": 0.4})
    for label, name in enumerate(label_names):
        marker = {"color": _colour(label), "size": 3.5, "opacity": 0.5}
        mine = corpus[corpus["label"] == label]
        _points(figure, mine, name=name, marker=marker, legendgroup=str(label), showlegend=False)
    linked = corpus[corpus["target"] >= 0]
    _lines(figure, linked, distilled.set_index("row").loc[linked["target"]])
    _distilled_points(figure, distilled, label_names)
    shares = points["share_x"].iloc[0], points["share_y"].iloc[0]
    title = _headed(
        f"{len(distilled):,} distilled rows stand for {distilled['rows'].sum():,} training rows",
        "Large points: distilled rows, the larger the more of the corpus's weight they stand for. "
        f"Small points: {len(corpus):,} training rows drawn by weight; lines lead from some of "
        "them to the distilled row each is assigned to. Every cloud should have large points in "
        f"it. The plane holds {sum(shares):.0%} of the variance: what is near in it may "
        "still be far, and lines may look longer or shorter than they are.",
    )
    figure.update_layout(
        template="plotly_white", title=title, height=760, margin={"t": 130}, legend={"y": 0.98}
    )
    for axis, share in zip("xy", shares, strict=True):
        direction = f"principal direction {'xy'.index(axis) + 1} of φ ({share:.1%} of variance)"
        figure.update_layout({f"{axis}axis": {"title": {"text": direction}, "zeroline": False}})
    return figure


def coverage_figure(
    covered: Covered, random: Covered, labels: Int64, label_names: Sequence[str]
) -> Any:
    """Distances of training rows to the nearest allowed distilled row, and to a random choice."""
    figure = _two_panels(
        ("All training rows", "Share of rows by distance. Blue left of grey: better than random."),
        ("By class, the farthest first", "r̄, p95 and p99. Far to the right: covered poorly."),
    )
    sides = (
        ("random choice", random.allowed.distance.astype(np.float64), _GREY),
        ("distilled rows", covered.allowed.distance.astype(np.float64), _BLUE),
    )
    top = max(float(values.max()) for _, values, _ in sides)
    low = min(float(values.min()) for _, values, _ in sides)
    edges = np.linspace(low, max(top, low + 1e-3), _BARS + 1)
    for name, values, colour in sides:
        _histogram(figure, name, values, edges, colour)
    _marks(figure, sides[1][1])
    _class_ranges(figure, sides, labels, label_names)
    r_chance, r_chosen = (float(values.mean()) for _, values, _ in sides)
    title = _headed(
        f"On average a training row is {r_chosen:.3f} from its nearest distilled row "
        f"({r_chance:.3f} for a random choice)",
        "Distance ‖φ − φ'‖ of each training row to the nearest distilled row it may be assigned "
        "to: 0 is the same φ, √2 ≈ 1.41 an unrelated one.",
    )
    figure.update_layout(barmode="overlay", title=title)
    figure.update_xaxes(title_text="distance to the nearest distilled row")
    figure.update_yaxes(title_text="share of training rows", tickformat=".1%", row=1, col=1)
    return figure


def curve_figure(curve: BudgetCurve, chosen_k: int, chosen_cost: float | None = None) -> Any:
    """Cost and distances of each budget, where the curve bends, and the budget chosen.

    `chosen_cost` is the cost of the rows chosen, which may not be those of the greedy path.
    """
    from plotly.graph_objects import Scatter

    table = curve.table
    sizes = np.arange(1, len(table) + 1)
    unit = "rows per class" if curve.scope == "class" else "rows in total"
    figure = _two_panels(
        ("Transport cost", "Mean squared distance, by weight, to the nearest row."),
        ("Distances", f"r̄ and p95 over all rows; W₁ on {curve.w1_rows:,} rows."),
    )
    lines = (
        ("cost", "cost along the greedy path", _BLUE, 1),
        ("mean_distance", "r̄, mean distance", _BLUE, 2),
        ("p95_distance", "p95 of distances", _GREY, 2),
        ("w1", "W₁ from the weighted corpus", _ORANGE, 2),
    )
    for column, name, colour, place in lines:
        values = table[column].to_numpy(dtype=np.float64)
        x, y = sizes[np.isfinite(values)], values[np.isfinite(values)]
        mode = "lines+markers" if column == "w1" else "lines"
        line = Scatter(x=x, y=y, name=name, mode=mode, line={"color": colour})
        figure.add_trace(line, 1, place)
    knee = curve.knee.k
    if knee is not None:
        _mark_size(figure, knee, float(table["cost"].iloc[knee - 1]), "knee", _ORANGE)
    if chosen_cost is None and chosen_k <= len(table):
        chosen_cost = float(table["cost"].iloc[chosen_k - 1])
    if chosen_cost is not None:
        _mark_size(figure, chosen_k, chosen_cost, "chosen", "black")
    headline = "No budget stands out" if knee is None else f"The curve bends at {knee} {unit}"
    figure.update_layout(title=_headed(headline, curve.knee.sentence))
    ticks = [k * 10**power for power in range(6) for k in (1, 2, 5)]
    axis = f"{unit} (logarithmic)"
    figure.update_xaxes(title_text=axis, type="log", tickvals=ticks, ticktext=ticks)
    figure.update_yaxes(title_text="Σ w min C", row=1, col=1)
    figure.update_yaxes(title_text="distance in φ", row=1, col=2)
    return figure


def _colour(label: int) -> str:
    return _CLASS_COLOURS[label % len(_CLASS_COLOURS)]


def _headed(headline: str, caption: str) -> dict[str, Any]:
    """The title of a whole figure, at its upper edge, above the titles of the panels."""
    return {"text": _title(headline, caption), "y": 0.97, "yanchor": "top"}


def _title(headline: str, caption: str, width: int = 160) -> str:
    lines = "<br>".join(wrap(caption, width))
    return f"<b>{headline}</b><br><span style='font-size:11px;color:#888'>{lines}</span>"


def _two_panels(*titles: tuple[str, str]) -> Any:
    from plotly.subplots import make_subplots

    texts = [_title(*title) for title in titles]
    figure = make_subplots(rows=1, cols=2, subplot_titles=texts, horizontal_spacing=0.13)
    figure.update_annotations(font_size=14)
    legend, margin = {"orientation": "h", "y": -0.2}, {"t": 145, "b": 90}
    figure.update_layout(template="plotly_white", height=560, margin=margin, legend=legend)
    return figure


def _lines(figure: Any, start: pd.DataFrame, stop: pd.DataFrame) -> None:
    """One trace for all lines: a gap after each pair of ends."""
    ends = np.full((len(start), 3, 2), np.nan, dtype=np.float32)
    ends[:, 0], ends[:, 1] = start[["x", "y"]], stop[["x", "y"]]
    line = {"color": "rgba(60,60,60,0.4)", "width": 0.7}
    name = f"assigned to ({len(start)} shown)"
    places = pd.DataFrame(ends.reshape(-1, 2), columns=["x", "y"])
    _points(figure, places, mode="lines", line=line, name=name)


def _points(figure: Any, places: pd.DataFrame, **options: Any) -> None:
    """All by WebGL: mixed with SVG, its points would cover those drawn after them."""
    from plotly.graph_objects import Scattergl

    options = {"mode": "markers", "hoverinfo": "skip"} | options
    figure.add_trace(Scattergl(x=places["x"].to_numpy(), y=places["y"].to_numpy(), **options))


def _distilled_points(figure: Any, distilled: pd.DataFrame, label_names: Sequence[str]) -> None:
    # By area, from the smallest size that is visible.
    parts = np.sqrt(distilled["mass"] / distilled["mass"].max())
    sizes = (_SMALLEST + (_LARGEST - _SMALLEST) * parts).to_numpy()
    for label, name in enumerate(label_names):
        mine = (distilled["label"] == label).to_numpy()
        symbol = ("circle", "diamond", "square")[label // len(_CLASS_COLOURS) % 3]
        marker = {"color": _colour(label), "symbol": symbol, "size": sizes[mine]}
        marker |= {"opacity": 0.9, "line": {"color": "white", "width": 1.5}}
        _points(
            figure,
            distilled[mine],
            marker=marker,
            name=f"{name} ({mine.sum()} distilled)",
            legendgroup=str(label),
            customdata=distilled.loc[mine, ["mass", "rows"]].to_numpy(),
            hoverinfo=None,
            hovertemplate="%{customdata[0]:.2%} of the weight, %{customdata[1]:,} rows",
        )


def _histogram(figure: Any, name: str, values: Float64, edges: Float64, colour: str) -> None:
    """Counted here, because a figure of raw distances would grow with the corpus."""
    from plotly.graph_objects import Bar

    shares = np.histogram(values, edges)[0] / len(values)
    middles, width = (edges[:-1] + edges[1:]) / 2, edges[1] - edges[0]
    bar = Bar(x=middles, y=shares, width=width, name=name, marker_color=colour, opacity=0.65)
    figure.add_trace(bar, 1, 1)


def _marks(figure: Any, values: Float64) -> None:
    p95, p99 = np.quantile(values, [0.95, 0.99])
    for name, value, side in (
        ("r̄", values.mean(), "left"),
        ("p95", p95, "left"),
        ("p99", p99, "right"),
    ):
        line: dict[str, Any] = {"x": value, "line_dash": "dot", "line_color": _BLUE}
        note = {"annotation_text": f" {name} {value:.2f} ", "annotation_position": f"top {side}"}
        font = {"annotation_font_color": _BLUE, "annotation_font_size": 11}
        figure.add_vline(**line, **note, **font, row=1, col=1)


def _class_ranges(
    figure: Any,
    sides: Sequence[tuple[str, Float64, str]],
    labels: Int64,
    label_names: Sequence[str],
) -> None:
    from plotly.graph_objects import Scatter

    present = [label for label in range(len(label_names)) if (labels == label).any()]
    distilled = sides[-1][1]
    present.sort(key=lambda label: -float(distilled[labels == label].mean()))
    present = present[:_MOST_CLASSES]
    marker = {"symbol": ["circle", "line-ns-open", "line-ns-open"], "size": 10}
    for (name, values, colour), shift in zip(sides, (0.12, -0.12), strict=True):
        style = {"mode": "lines+markers", "marker": marker, "line": {"color": colour}}
        for place, label in enumerate(present):
            mine = values[labels == label]
            x = [mine.mean(), *np.quantile(mine, [0.95, 0.99])]
            line = Scatter(x=x, y=[shift - place] * 3, name=name, showlegend=False, **style)
            figure.add_trace(line, 1, 2)
    names = [label_names[label] for label in present]
    places = [-place for place in range(len(present))]
    figure.update_yaxes(tickvals=places, ticktext=names, zeroline=False, row=1, col=2)


def _mark_size(figure: Any, k: int, cost: float, name: str, colour: str) -> None:
    from plotly.graph_objects import Scatter

    marker = {"color": colour, "size": 11, "symbol": "diamond"}
    title = f"{name}: {k}"
    figure.add_trace(Scatter(x=[k], y=[cost], mode="markers", marker=marker, name=title), 1, 1)
    for column in (1, 2):
        figure.add_vline(x=k, line_dash="dot", line_color=colour, row=1, col=column)
