"""What all charts share: scales, ticks, and an SVG that grows with the page but not its letters.

The outer SVG has no viewBox. Its height is in pixels, and places in it are percentages, so that on
a telephone points move together while letters, points and lines keep their size. Paths know no
percentages; they stand in an inner SVG that is stretched, with strokes that are not. Colours are
classes that `style.css` gives a meaning in light, in dark and on paper.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil, floor, log10
from typing import NamedTuple

from markupsafe import Markup

GRID = 1000  # the inner SVG is so many units wide and high
_STEPS = (1, 2, 2.5, 5, 10)


class Tick(NamedTuple):
    """A value on an axis, and what is written beside it."""

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
        """Where a value stands: 0 at the low end, 1 at the high end."""
        low, high = self.low, self.high
        if self.log:
            low, high, value = (log10(max(part, 1e-300)) for part in (low, high, value))
        return (value - low) / (high - low) if high > low else 0.5

    def ticks(self, most: int = 5) -> list[Tick]:
        """A few round values."""
        return (
            log_ticks(self.low, self.high) if self.log else round_ticks(self.low, self.high, most)
        )


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


def path(points: Iterable[tuple[float, float]], class_: str, *, close: bool = False) -> Markup:
    """A line through points in inner units."""
    written = "L".join(f"{x:.5g} {y:.5g}" for x, y in points)
    return element("path", d=f"M{written}{'Z' if close else ''}", class_=class_)


def stretched(shapes: Iterable[Markup]) -> Markup:
    """Shapes in inner units, stretched over the whole chart."""
    return element(
        "svg",
        Markup("").join(shapes),
        viewBox=f"0 0 {GRID} {GRID}",
        preserveAspectRatio="none",
        width="100%",
        height="100%",
        overflow="visible",
    )


def mark(share: float, text: str, class_: str = "mark", line: float = 0.0) -> Markup:
    """A vertical line with a name at its upper end, on the side that has room."""
    anchor = "start" if share < 0.6 else "end"
    dx = 5 if anchor == "start" else -5
    return Markup("").join(
        [
            element("line", x1=at(share), x2=at(share), y1="0%", y2="100%", class_=class_),
            element(
                "text",
                text,
                x=at(share),
                y=12 + 15 * line,
                dx=dx,
                text_anchor=anchor,
                class_=f"{class_}-name",
            ),
        ]
    )


def chart(
    inner: Sequence[Markup],
    label: str,
    *,
    height: int = 220,
    x: tuple[Scale, Sequence[Tick], str] | None = None,
    y: tuple[Scale, Sequence[Tick], str] | None = None,
) -> Markup:
    """The chart with its axes. `label` says what it shows to who cannot see it."""
    parts: list[Markup] = []
    if y is not None:
        scale, ticks, title = y
        for tick in ticks:
            place = at(1 - scale.at(tick.value))
            parts.append(element("line", x1="0%", x2="100%", y1=place, y2=place, class_="grid"))
            parts.append(
                element(
                    "text", tick.name, x=-7, y=place, dy="0.32em", text_anchor="end", class_="tick"
                )
            )
        parts.append(element("text", title, x=0, y=-10, class_="axis"))
    if x is not None:
        scale, ticks, title = x
        for tick in ticks:
            share = scale.at(tick.value)
            anchor = "start" if share < 0.01 else "end" if share > 0.99 else "middle"
            parts.append(
                element(
                    "text",
                    tick.name,
                    x=at(share),
                    y="100%",
                    dy=16,
                    text_anchor=anchor,
                    class_="tick",
                )
            )
        parts.append(element("line", x1="0%", x2="100%", y1="100%", y2="100%", class_="base"))
        parts.append(
            element("text", title, x="50%", y="100%", dy=34, text_anchor="middle", class_="axis")
        )
    svg = element(
        "svg", Markup("").join([*parts, *inner]), role="img", aria_label=label, height=height
    )
    return element("div", svg, class_="plot" + ("" if y else " plot-bare"))
