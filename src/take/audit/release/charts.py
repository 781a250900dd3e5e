"""The kinds of charts in the report, from numbers to SVG or HTML, without scripts.

What is where is computed here; the markup is in `charts.html.j2`, which escapes every name. SVG by
hand: a plotting library would bring scripts, fixed sizes, or megabytes per page. The outer SVG has
no viewBox. Its height is in pixels and positions are percentages, so that on a phone points move
together while letters, points and lines keep their size. Paths cannot use percentages; they are in
an inner SVG that is stretched, with strokes that are not. Colours are classes that `style.css`
defines for light, dark and paper. Lists of intervals and bars are HTML, so that names can wrap.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise
from math import ceil, floor, isfinite, log10
from typing import Any, NamedTuple

from markupsafe import Markup

from take.text.format import number, share

GRID = 1000  # the inner SVG is so many units wide and high
_STEPS = (1, 2, 2.5, 5, 10)


class Tick(NamedTuple):
    """A value on an axis, and its text."""

    value: float
    name: str


class Scale(NamedTuple):
    """From values to a share of the chart's width or height.

    >>> Scale(0, 4).at(1), Scale(1, 100, log=True).at(10)
    (0.25, 0.5)
    """

    low: float
    high: float
    log: bool = False

    def at(self, value: float) -> float:
        """The position of a value: 0 at the low end, 1 at the high end."""
        low, high = self.low, self.high
        if self.log:
            low, high, value = (log10(max(part, 1e-300)) for part in (low, high, value))
        return (value - low) / (high - low) if high > low else 0.5

    def ticks(self, most: int = 5) -> list[Tick]:
        """A few round values."""
        ends = self.low, self.high
        return log_ticks(*ends) if self.log else round_ticks(*ends, most)


def round_ticks(low: float, high: float, most: int = 5) -> list[Tick]:
    """Round values from low to high, both included where they are round.

    >>> [tick.name for tick in round_ticks(0, 1)], [tick.name for tick in round_ticks(1.02, 1.31)]
    (['0', '0.25', '0.5', '0.75', '1'], ['1.1', '1.2', '1.3'])
    """
    if high <= low:
        return [Tick(low, f"{low:.3g}")]
    raw = (high - low) / max(most - 1, 1)
    power = 10 ** floor(log10(raw))
    step = next(power * part for part in _STEPS if power * part >= raw * (1 - 1e-9))
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    return [
        Tick(place * step, f"{place * step:.6g}".replace("-", "−"))
        for place in range(first, last + 1)
    ]


def log_ticks(low: float, high: float) -> list[Tick]:
    """1, 2, 5 and their tens, thinned out where there are many.

    >>> [tick.name for tick in log_ticks(1, 20)]
    ['1', '2', '5', '10', '20']
    """
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    every = [digit * 10.0**power for power in powers for digit in (1, 2, 5)]
    found = [value for value in every if low * 0.999 <= value <= high * 1.001]
    if len(found) > 6:
        found = [value for value in found if f"{value:e}"[0] == "1"]
    return [Tick(value, f"{value:,.6g}") for value in found]


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


class Axis(NamedTuple):
    """An axis with its title."""

    scale: Scale
    ticks: Sequence[Tick]
    title: str


class Dot(NamedTuple):
    """A point above the lines, at shares of the width and height."""

    x: float
    y: float
    r: float
    class_: str
    name: str | None = None
    above: bool = False
    title: str | None = None
    anchor: str | None = None
    outline: str | None = None


def draw(macro: str, *values: Any, **named: Any) -> Markup:
    """One macro of `charts.html.j2`."""
    found: Markup = getattr(_macros(), macro)(*values, **named)
    return found


@cache
def _macros() -> Any:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined)
    environment.filters.update(
        at=lambda place: f"{100 * place:.5g}%",
        within=lambda part: min(max(part, 0.0), 1.0),
        number=number,
    )
    text = files(__package__).joinpath("charts.html.j2").read_text(encoding="utf-8")
    return environment.from_string(text, {"grid": GRID}).module


def path(points: Iterable[tuple[float, float]]) -> str:
    """A line through points, given as shares of the width and height."""
    return "M" + "L".join(f"{GRID * x:.5g} {GRID * y:.5g}" for x, y in points)


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
        corners = [(across.at(edges[0]), 1.0)]
        for (left, right), value in zip(pairwise(edges), part, strict=True):
            y = 1 - upwards.at(value)
            corners += [(across.at(left), y), (across.at(right), y)]
        shapes.append((path([*corners, (across.at(edges[-1]), 1.0)]), f"area {one.role}"))
    inside = [m for m in marks if edges[0] <= m.value <= edges[-1]]
    ticks = [Tick(tick.value, share(tick.value)) for tick in round_ticks(0, upwards.high, 4)]
    return draw(
        "plot",
        f"Histogram of {x_title}: " + " and ".join(one.name for one in series),
        200,
        [(one.name, one.role) for one in series] if len(series) > 1 else [],
        shapes,
        [(across.at(m.value), m.name, i % 3) for i, m in enumerate(inside)],
        x=Axis(across, across.ticks(5), x_title),
        y=Axis(upwards, ticks, "share of rows"),
    )


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
        shapes.append((path(places), f"line {one.role}"))
        if len(places) <= 8:
            dots += [Dot(*place, 3, f"dot {one.role}") for place in places]
    for a, b, name in points:
        # The name is on the free side of the line: above it, if the point is.
        nearest = min(range(len(x)), key=lambda i: abs(x[i] - a))
        above = b > series[0].values[nearest] + room / 4
        dots.append(Dot(across.at(a), 1 - upwards.at(b), 6, "dot chosen", name, above))
    return draw(
        "plot",
        f"{', '.join(one.name for one in series)} by {x_title}",
        240,
        [(one.name, f"{one.role} stroke") for one in series] if len(series) > 1 else [],
        shapes,
        [(across.at(m.value), m.name, 0) for m in marks],
        dots,
        x=Axis(across, across.ticks(), x_title),
        y=Axis(upwards, round_ticks(upwards.low, upwards.high, 5), y_title),
    )


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
    return draw("intervals", rows, scale, ticks, title, even, neutral)


def bars(
    rows: Sequence[tuple[str, float, str]], role: str = "ours", top: float | None = None
) -> Markup:
    """Bars from one line: (name, value, its text).

    >>> "width:50%" in bars([("one", 2, "2"), ("two", 1, "1")])
    True
    """
    longest = top or max((value for _, value, _ in rows), default=0) or 1
    return draw("bars", rows, role, longest)


def bar(part: float, role: str = "ours") -> Markup:
    """A bar that fills a part of its track."""
    return draw("bar", part, role)
