"""How plots are laid out: panels, titles with captions, marked blocks of columns."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import Any

GREY = "#9a9a9a"
PANEL_HEIGHT = 330
_GRID = "rgba(136, 136, 136, 0.2)"


def in_panels(
    titles: Sequence[str], columns: int, height: int = PANEL_HEIGHT, shared_y: bool = False
) -> Any:
    """Panels in rows, all of the same height, with the legend below."""
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
    # kedro-viz applies its dark theme to the first panel's axes only.
    for update in (figure.update_xaxes, figure.update_yaxes):
        update(gridcolor=_GRID, zerolinecolor=_GRID)
    legend = {"orientation": "h", "y": -70 / (total - 200), "yanchor": "top"}
    return figure.update_layout(template="plotly_white", height=total, legend=legend)


def titled(figure: Any, headline: str, caption: str, width: int = 160) -> Any:
    """The figure with a title and a caption."""
    lines = "<br>".join(wrap(caption, width))
    text = f"<b>{headline}</b><br><span style='font-size:11px;color:#888'>{lines}</span>"
    # The title's distance from the upper edge is in pixels, whatever the figure's height.
    title = {"text": text, "y": 1, "yref": "container", "yanchor": "top", "pad": {"t": 18}}
    return figure.update_layout(title=title, margin={"t": 140})


def empty(text: str) -> Any:
    """A figure that says what is missing."""
    from plotly.graph_objects import Figure

    figure = Figure()
    figure.add_annotation(text=text, showarrow=False, font={"size": 15, "color": "#888"})
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False)
    return figure.update_layout(template="plotly_white", height=240)


def mark_blocks(figure: Any, names: Sequence[str]) -> None:
    """The corpora above their columns, and lines between them."""
    for name in dict.fromkeys(names):
        first, count = names.index(name), names.count(name)
        place = {"x": first + (count - 1) / 2, "y": 1, "yref": "paper", "yanchor": "bottom"}
        figure.add_annotation(text=name, showarrow=False, font={"size": 11}, **place)
        if first:
            figure.add_vline(x=first - 0.5, line_color=GREY, line_width=1)
