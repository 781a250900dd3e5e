"""The charts of the page, each a small function from numbers to SVG or HTML. No script."""

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
    mark,
    path,
    round_ticks,
    stretched,
)
from take.text.format import share


class Series(NamedTuple):
    """Values with a name and a role in the picture: `ours`, `beside` or `other`."""

    name: str
    values: Sequence[float]
    role: str = "ours"


class Mark(NamedTuple):
    """A value worth a vertical line."""

    value: float
    name: str


def legend(series: Iterable[tuple[str, str]]) -> Markup:
    """Names beside the shape that stands for them: (name, class of the shape).

    >>> legend([("corpus", "beside")])
    Markup('<ul class="legend"><li><i class="key beside"></i>corpus</li></ul>')
    """
    items = (
        element(
            "li", Markup("").join([element("i", class_=f"key {role}"), Markup("{}").format(name)])
        )
        for name, role in series
    )
    return element("ul", Markup("").join(items), class_="legend")


def histogram(
    edges: Sequence[float],
    series: Sequence[Series],
    x_title: str,
    marks: Sequence[Mark] = (),
    height: int = 200,
) -> Markup:
    """Shares of rows by value. The first series is filled, the others are outlines above it.

    Values are counts, shown as shares of their series, so that sets of other sizes compare.
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
    label = f"Histogram of {x_title}: " + " and ".join(one.name for one in series)
    plot = chart(
        [stretched(shapes), *named],
        label,
        height=height,
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
    finite = [v for one in series for v in one.values if isfinite(v)] + [
        point[1] for point in points
    ]
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
        place, anchor = across.at(a), "end" if across.at(a) > 0.5 else "start"
        y = at(1 - upwards.at(b))
        # On the side of the line that is free: above it, if the point is.
        nearest = min(range(len(x)), key=lambda i: abs(x[i] - a))
        above = b > series[0].values[nearest] + room / 4
        dots.append(element("circle", cx=at(place), cy=y, r=6, class_="dot chosen"))
        dots.append(
            element(
                "text",
                name,
                x=at(place),
                y=y,
                dx=0 if above else 12 if anchor == "start" else -12,
                dy=-13 if above else 14 if anchor == "end" else -8,
                text_anchor="middle" if above and 0.2 < place < 0.8 else anchor,
                class_="name",
            )
        )
    lines = [mark(across.at(m.value), m.name) for m in marks]
    label = f"{', '.join(one.name for one in series)} by {x_title}"
    plot = chart(
        [stretched(shapes), *lines, *dots],
        label,
        height=240,
        x=(across, across.ticks(), x_title),
        y=(upwards, round_ticks(upwards.low, upwards.high, 5), y_title),
    )
    return (
        legend([(one.name, f"{one.role} stroke") for one in series])
        if len(series) > 1
        else Markup("")
    ) + plot
