"""The kinds of charts in the report, from numbers to SVG or HTML, without scripts.

Histograms and curves are SVG; lists of intervals and bars are HTML, so that names can wrap.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import isfinite
from typing import NamedTuple

from markupsafe import Markup

from take.audit.release.charts_svg import (
    GRID,
    Scale,
    Tick,
    at,
    chart,
    element,
    joined,
    mark,
    path,
    round_ticks,
    stretched,
    vertical,
)
from take.text.format import number, share

_LINE = 28  # pixels


class Series(NamedTuple):
    """Values with a name and a role in the chart: `ours`, `reference` or `other`."""

    name: str
    values: Sequence[float]
    role: str = "ours"


class Mark(NamedTuple):
    """A value marked by a vertical line."""

    value: float
    name: str


class Row(NamedTuple):
    """One line of `intervals`: a point with its interval, if it has one."""

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None
    written: str = ""
    role: str = "ours"


def legend(series: Iterable[tuple[str, str]]) -> Markup:
    """Names next to their keys: (name, class of the key).

    >>> legend([("corpus", "reference")])
    Markup('<ul class="legend"><li><i class="key reference"></i>corpus</li></ul>')
    """
    items = [
        element("li", joined(element("i", class_=f"key {role}"), Markup("{}").format(name)))
        for name, role in series
    ]
    return element("ul", joined(*items), class_="legend")


def histogram(
    edges: Sequence[float], series: Sequence[Series], x_title: str, marks: Sequence[Mark] = ()
) -> Markup:
    """Shares of rows by value. The first series is filled, the others are outlines above it.

    Values are counts, shown as shares of their series, so that sets of different sizes compare.
    """
    across = Scale(edges[0], edges[-1])
    parts = [[count / max(sum(one.values), 1e-12) for count in one.values] for one in series]
    top = max((max(part, default=0) for part in parts), default=0) or 1
    upwards = Scale(0, top * 1.08)
    shapes = []
    for one, part in zip(series, parts, strict=True):
        corners = [(GRID * across.at(edges[0]), float(GRID))]
        for (left, right), value in zip(pairwise(edges), part, strict=True):
            y = GRID * (1 - upwards.at(value))
            corners += [(GRID * across.at(left), y), (GRID * across.at(right), y)]
        corners.append((GRID * across.at(edges[-1]), float(GRID)))
        shapes.append(path(corners, f"area {one.role}"))
    inside = [m for m in marks if edges[0] <= m.value <= edges[-1]]
    named = [mark(across.at(m.value), m.name, line=i % 3) for i, m in enumerate(inside)]
    ticks = [Tick(tick.value, share(tick.value)) for tick in round_ticks(0, upwards.high, 4)]
    plot = chart(
        [stretched(shapes), *named],
        f"Histogram of {x_title}: " + " and ".join(one.name for one in series),
        height=200,
        x=(across, across.ticks(5), x_title),
        y=(upwards, ticks, "share of rows"),
    )
    keys = legend([(one.name, one.role) for one in series]) if len(series) > 1 else Markup("")
    return keys + plot


def curve(
    x: Sequence[float],
    series: Sequence[Series],
    x_title: str,
    y_title: str,
    points: Sequence[tuple[float, float, str]] = (),
    marks: Sequence[Mark] = (),
) -> Markup:
    """Lines over a logarithmic axis, with some points and values marked by name."""
    every = [*x, *(point[0] for point in points)]
    across = Scale(min(every), max(every), log=min(every) > 0 and max(every) > min(every))
    finite = [v for one in series for v in one.values if isfinite(v)]
    finite += [point[1] for point in points]
    low, high = min(finite), max(finite)
    room = (high - low or abs(high) or 1) * 0.08
    upwards = Scale(low - room, high + room)
    shapes, dots = [], []
    for one in series:
        places = [
            (across.at(a), 1 - upwards.at(b))
            for a, b in zip(x, one.values, strict=True)
            if isfinite(b)
        ]
        shapes.append(path([(GRID * a, GRID * b) for a, b in places], f"line {one.role}"))
        if len(places) <= 8:
            dots += [
                element("circle", cx=at(a), cy=at(b), r=3, class_=f"dot {one.role}")
                for a, b in places
            ]
    for a, b, name in points:
        # The name is on the free side of the line: above it, if the point is.
        nearest = min(range(len(x)), key=lambda i: abs(x[i] - a))
        above = b > series[0].values[nearest] + room / 4
        dots += _chosen(across.at(a), at(1 - upwards.at(b)), name, above=above)
    plot = chart(
        [stretched(shapes), *(mark(across.at(m.value), m.name) for m in marks), *dots],
        f"{', '.join(one.name for one in series)} by {x_title}",
        height=240,
        x=(across, across.ticks(), x_title),
        y=(upwards, round_ticks(upwards.low, upwards.high, 5), y_title),
    )
    keys = [(one.name, f"{one.role} stroke") for one in series]
    return (legend(keys) if len(series) > 1 else Markup("")) + plot


def _chosen(place: float, y: str, name: str, *, above: bool) -> list[Markup]:
    anchor = "end" if place > 0.5 else "start"
    text = element(
        "text",
        name,
        x=at(place),
        y=y,
        dx=0 if above else 12 if anchor == "start" else -12,
        dy=-13 if above else 14 if anchor == "end" else -8,
        text_anchor="middle" if above and 0.2 < place < 0.8 else anchor,
        class_="name",
    )
    return [element("circle", cx=at(place), cy=y, r=6, class_="dot chosen"), text]


def intervals(
    rows: Sequence[Row],
    scale: Scale,
    ticks: Sequence[Tick],
    title: str,
    even: tuple[float, float] | None = None,
    neutral: float | None = None,
) -> Markup:
    """Points with intervals, a line each, on one axis; the range that counts as even is shaded.

    What lies beyond the axis ends in an arrow, so that an interval without bound is not blank.
    """
    below = [vertical(scale.at(tick.value), "grid") for tick in ticks]
    if even:
        left, right = (_within(scale.at(end)) for end in even)
        width = at(right - left)
        below.append(element("rect", x=at(left), width=width, y=0, height="100%", class_="even"))
    if neutral is not None:
        below.append(vertical(scale.at(neutral), "neutral"))
    lines = []
    for row in rows:
        drawn, label = joined(*below, *_whisker(row, scale)), f"{row.name}: {row.written}"
        svg = element("svg", drawn, role="img", aria_label=label, height=_LINE)
        lines.append(_line(row.name, svg, row.written))
    named = [
        element(
            "text", tick.name, x=at(scale.at(tick.value)), y=12, text_anchor="middle", class_="tick"
        )
        for tick in ticks
    ]
    named.append(element("text", title, x="50%", y=29, text_anchor="middle", class_="axis"))
    axis = element("svg", joined(*named), aria_hidden="true", height=34)
    cells = joined(element("span", class_="what"), element("span", axis, class_="track"))
    lines.append(element("li", cells, class_="axis-row"))
    return element("ul", joined(*lines), class_="intervals")


def bars(
    rows: Sequence[tuple[str, float, str]], role: str = "ours", top: float | None = None
) -> Markup:
    """Bars from one line: (name, value, its text).

    >>> "width:50%" in bars([("one", 2, "2"), ("two", 1, "1")])
    True
    """
    longest = top or max((value for _, value, _ in rows), default=0) or 1
    lines = [_line(name, bar(value / longest, role), written) for name, value, written in rows]
    return element("ul", joined(*lines), class_="intervals bars")


def bar(part: float, role: str = "ours") -> Markup:
    """A bar that fills a part of its track."""
    width = f"width:{100 * _within(part):.4g}%"
    return element("span", element("i", class_=f"fill {role}", style=width), class_="bar")


def _line(name: str, track: Markup, written: str) -> Markup:
    cells = joined(
        element("span", element("bdi", name), class_="what"),
        element("span", track, class_="track"),
        element("span", written, class_="figure"),
    )
    return element("li", cells)


def _whisker(row: Row, scale: Scale) -> list[Markup]:
    drawn = []
    if row.low is not None or row.high is not None:
        left = at(_within(scale.at(row.low)) if row.low is not None else 0.0)
        right = at(_within(scale.at(row.high)) if row.high is not None else 1.0)
        role = f"whisker {row.role}"
        drawn.append(element("line", x1=left, x2=right, y1="50%", y2="50%", class_=role))
        if row.high is None or scale.at(row.high) > 1:
            drawn.append(_arrow("100%", "m-7 -5l7 5l-7 5", row.role))
        if row.low is None or (scale.at(row.low) < 0 and row.low != row.value):
            drawn.append(_arrow("0%", "m7 -5l-7 5l7 5", row.role))
    if row.value is not None and 0 <= scale.at(row.value) <= 1:
        title, role = element("title", f"{row.name}: {number(row.value)}"), f"dot {row.role}"
        place = at(scale.at(row.value))
        drawn.append(element("circle", title, cx=place, cy="50%", r=5, class_=role))
    return drawn


def _arrow(x: str, steps: str, role: str) -> Markup:
    """Steps in pixels from a place in percent."""
    shape = element("path", d=f"M0 0{steps}", class_=f"arrow {role}")
    return element("svg", shape, x=x, y="50%", overflow="visible")


def _within(part: float) -> float:
    return min(max(part, 0.0), 1.0)
