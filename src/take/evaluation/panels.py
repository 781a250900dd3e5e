"""What the figures share: panels, headings, and what to show when there is nothing."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import Any

PANEL_HEIGHT = 330
_GRID = "rgba(136, 136, 136, 0.2)"


def side_by_side(
    titles: Sequence[str], columns: int, height: int = PANEL_HEIGHT, shared_y: bool = False
) -> Any:
    """Panels in rows of so many, each as high; the legend below them."""
    from plotly.subplots import make_subplots

    columns = min(columns, len(titles))
    rows = -(-len(titles) // columns)
    total = height * rows + 200
    figure = make_subplots(
        rows=rows,
        cols=columns,
        subplot_titles=titles,
        shared_yaxes="all" if shared_y else False,
        horizontal_spacing=(0.1 if shared_y else 0.2) / columns,
        vertical_spacing=130 / total if rows > 1 else 0,
    )
    figure.update_annotations(font_size=13)
    # kedro-viz lays its dark theme on the first panel's axes alone.
    for update in (figure.update_xaxes, figure.update_yaxes):
        update(gridcolor=_GRID, zerolinecolor=_GRID)
    figure.update_layout(
        template="plotly_white",
        height=total,
        legend={"orientation": "h", "y": -70 / (total - 200), "yanchor": "top"},
    )
    return figure


def headed(figure: Any, headline: str, caption: str, width: int = 160) -> Any:
    """The figure under a title that says what it shows."""
    lines = "<br>".join(wrap(caption, width))
    text = f"<b>{headline}</b><br><span style='font-size:11px;color:#888'>{lines}</span>"
    # The title keeps its distance from the upper edge in pixels, however high the figure is.
    title = {"text": text, "y": 1, "yref": "container", "yanchor": "top", "pad": {"t": 18}}
    return figure.update_layout(title=title, margin={"t": 140})


def missing(text: str) -> Any:
    """A figure that says what there is not."""
    from plotly.graph_objects import Figure

    figure = Figure()
    figure.add_annotation(text=text, showarrow=False, font={"size": 15, "color": "#888"})
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False)
    return figure.update_layout(template="plotly_white", height=240)
