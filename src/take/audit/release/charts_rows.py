"""Charts of one line each: points with intervals, and bars. HTML, so that names can wrap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from take.audit.release.charts_svg import Scale, Tick, at, element
from take.text.format import number

_LINE = 28  # pixels


class Row(NamedTuple):
    """One line of `intervals`: a point with its interval, if it has one."""

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None
    written: str = ""
    role: str = "ours"


def intervals(
    rows: Sequence[Row],
    scale: Scale,
    ticks: Sequence[Tick],
    title: str,
    even: tuple[float, float] | None = None,
    neutral: float | None = None,
) -> Markup:
    """Points with intervals, a line each, on one axis; what counts as even is shaded.

    What lies beyond the axis ends in an arrow, so that an interval without bound is no blank.
    """
    lines = []
    for row in rows:
        drawn = [_grid(at(scale.at(tick.value))) for tick in ticks]
        if even:
            left, right = (_within(scale.at(end)) for end in even)
            drawn.append(
                element(
                    "rect", x=at(left), width=at(right - left), y=0, height="100%", class_="even"
                )
            )
        if neutral is not None:
            place = at(scale.at(neutral))
            drawn.append(element("line", x1=place, x2=place, y1="0%", y2="100%", class_="neutral"))
        drawn += _whisker(row, scale)
        said = f"{row.name}: {row.written}"
        svg = element("svg", Markup("").join(drawn), role="img", aria_label=said, height=_LINE)
        lines.append(
            element(
                "li",
                Markup("").join(
                    [
                        element("span", element("bdi", row.name), class_="what"),
                        element("span", svg, class_="track"),
                        element("span", row.written, class_="figure"),
                    ]
                ),
            )
        )
    named = [
        element(
            "text", tick.name, x=at(scale.at(tick.value)), y=12, text_anchor="middle", class_="tick"
        )
        for tick in ticks
    ]
    named.append(element("text", title, x="50%", y=29, text_anchor="middle", class_="axis"))
    axis = element("svg", Markup("").join(named), aria_hidden="true", height=34)
    lines.append(
        element(
            "li",
            Markup("").join(
                [element("span", class_="what"), element("span", axis, class_="track")]
            ),
            class_="axis-row",
        )
    )
    return element("ul", Markup("").join(lines), class_="intervals")


def bars(
    rows: Sequence[tuple[str, float, str]], role: str = "ours", top: float | None = None
) -> Markup:
    """Bars from one line: (name, value, what is written beside it).

    >>> "width:50%" in bars([("one", 2, "2"), ("two", 1, "1")])
    True
    """
    longest = top or max((value for _, value, _ in rows), default=0) or 1
    lines = (
        element(
            "li",
            Markup("").join(
                [
                    element("span", element("bdi", name), class_="what"),
                    element("span", bar(value / longest, role), class_="track"),
                    element("span", written, class_="figure"),
                ]
            ),
        )
        for name, value, written in rows
    )
    return element("ul", Markup("").join(lines), class_="intervals bars")


def bar(part: float, role: str = "ours") -> Markup:
    """A bar that fills a part of its track."""
    width = f"width:{100 * _within(part):.4g}%"
    return element("span", element("i", class_=f"fill {role}", style=width), class_="bar")


def _whisker(row: Row, scale: Scale) -> list[Markup]:
    drawn = []
    if row.low is not None or row.high is not None:
        left = _within(scale.at(row.low)) if row.low is not None else 0.0
        right = _within(scale.at(row.high)) if row.high is not None else 1.0
        drawn.append(
            element(
                "line", x1=at(left), x2=at(right), y1="50%", y2="50%", class_=f"whisker {row.role}"
            )
        )
        if row.high is None or scale.at(row.high) > 1:
            drawn.append(_arrow("100%", "m-7 -5l7 5l-7 5", row.role))
        if row.low is None or (scale.at(row.low) < 0 and row.low != row.value):
            drawn.append(_arrow("0%", "m7 -5l-7 5l7 5", row.role))
    if row.value is not None and 0 <= scale.at(row.value) <= 1:
        title = element("title", f"{row.name}: {number(row.value)}")
        drawn.append(
            element(
                "circle", title, cx=at(scale.at(row.value)), cy="50%", r=5, class_=f"dot {row.role}"
            )
        )
    return drawn


def _grid(place: str) -> Markup:
    return element("line", x1=place, x2=place, y1="0%", y2="100%", class_="grid")


def _arrow(x: str, steps: str, role: str) -> Markup:
    """Steps in pixels from a place in percent."""
    shape = element("path", d=f"M0 0{steps}", class_=f"arrow {role}")
    return element("svg", shape, x=x, y="50%", overflow="visible")


def _within(part: float) -> float:
    return min(max(part, 0.0), 1.0)
