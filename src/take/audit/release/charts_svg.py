"""Elements, scales, ticks and axes of all charts.

SVG by hand: a plotting library would bring scripts, fixed sizes, or megabytes per page. The outer
SVG has no viewBox. Its height is in pixels and positions are percentages, so that on a phone points
move together while letters, points and lines keep their size. Paths cannot use percentages; they
are in an inner SVG that is stretched, with strokes that are not. Colours are classes that
`style.css` defines for light, dark and paper.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import ceil, floor, log10
from typing import NamedTuple

from markupsafe import Markup

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


def at(share: float) -> str:
    """A share as a place in the outer SVG."""
    return f"{100 * share:.5g}%"


def element(name: str, content: str | Markup = "", **attributes: object) -> Markup:
    """One SVG or HTML element; every attribute and any plain content is escaped.

    >>> element("text", "a < b", x="5%", class_="tick")
    Markup('<text x="5%" class="tick">a &lt; b</text>')
    """
    written = Markup("").join(
        Markup(' {}="{}"').format(Markup(key.rstrip("_").replace("_", "-")), value)  # noqa: S704
        for key, value in attributes.items()
        if value is not None
    )
    tag = Markup(name)  # noqa: S704 — names are written in this package
    return Markup("<{}{}>{}</{}>").format(tag, written, content, tag)


def joined(*parts: Markup) -> Markup:
    """Elements one after the other."""
    return Markup("").join(parts)


def path(points: Iterable[tuple[float, float]], class_: str) -> Markup:
    """A line through points in inner units."""
    written = "L".join(f"{x:.5g} {y:.5g}" for x, y in points)
    return element("path", d=f"M{written}", class_=class_)


def stretched(shapes: Iterable[Markup]) -> Markup:
    """Shapes in inner units, stretched over the whole chart."""
    return element(
        "svg",
        joined(*shapes),
        viewBox=f"0 0 {GRID} {GRID}",
        preserveAspectRatio="none",
        width="100%",
        height="100%",
        overflow="visible",
    )


def vertical(share: float, class_: str) -> Markup:
    """A vertical line over the whole height."""
    return element("line", x1=at(share), x2=at(share), y1="0%", y2="100%", class_=class_)


def mark(share: float, text: str, line: float = 0.0) -> Markup:
    """A vertical line with a name at its upper end, on the side that has room."""
    anchor, dx = ("start", 5) if share < 0.6 else ("end", -5)
    place = {"x": at(share), "y": 12 + 15 * line, "dx": dx, "text_anchor": anchor}
    return joined(vertical(share, "mark"), element("text", text, **place, class_="mark-name"))


Axis = tuple[Scale, Sequence[Tick], str]


def chart(
    inner: Sequence[Markup],
    label: str,
    *,
    height: int = 220,
    x: Axis | None = None,
    y: Axis | None = None,
) -> Markup:
    """The chart with its axes. `label` describes it to readers who cannot see it."""
    parts = [*(_vertical_axis(*y) if y else []), *(_horizontal_axis(*x) if x else []), *inner]
    svg = element("svg", joined(*parts), role="img", aria_label=label, height=height)
    return element("div", svg, class_="plot" + ("" if y else " plot-bare"))


def _vertical_axis(scale: Scale, ticks: Sequence[Tick], title: str) -> Iterator[Markup]:
    for tick in ticks:
        place = at(1 - scale.at(tick.value))
        yield element("line", x1="0%", x2="100%", y1=place, y2=place, class_="grid")
        options = {"dy": "0.32em", "text_anchor": "end", "class_": "tick"}
        yield element("text", tick.name, x=-7, y=place, **options)
    yield element("text", title, x=0, y=-10, class_="axis")


def _horizontal_axis(scale: Scale, ticks: Sequence[Tick], title: str) -> Iterator[Markup]:
    for tick in ticks:
        share = scale.at(tick.value)
        anchor = "start" if share < 0.01 else "end" if share > 0.99 else "middle"
        place = {"x": at(share), "y": "100%", "dy": 16}
        yield element("text", tick.name, **place, text_anchor=anchor, class_="tick")
    yield element("line", x1="0%", x2="100%", y1="100%", y2="100%", class_="base")
    yield element("text", title, x="50%", y="100%", dy=34, text_anchor="middle", class_="axis")
