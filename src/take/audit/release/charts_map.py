"""The coverage map: where the corpus lies, and where the distilled rows stand in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from take.audit.release.charts import legend
from take.audit.release.charts_svg import GRID, Scale, at, chart, element, path, stretched
from take.rows.arrays import Float64

COLOURS = 10  # classes beyond take the colours anew, with another shape
_MOST_CORPUS, _MOST_POOL = 2000, 1000  # points: each adds some ten bytes to the page
_SMALLEST, _LARGEST = 4.0, 15.0  # radii in pixels
_SHAPES = ("M-1-1H1V1H-1Z", "M0-1.35L1.35 0L0 1.35L-1.35 0Z")


class Places(NamedTuple):
    """Coordinates out of the transport map."""

    pool: Float64  # (m, 2)
    corpus: list[Float64]  # by class
    distilled: list[Float64]  # by class, in the order of the distilled table
    masses: list[Float64]  # by class: share of the corpus's weight
    ends: Float64  # (l, 2, 2): from a corpus row to the row it is assigned to


class Spot(NamedTuple):
    """A distilled row on the map."""

    anchor: str
    title: str


def places(figure: Any) -> Places | None:
    """What a transport map shows; None if it is no such map or has no distilled row in it."""
    if figure is None:
        return None
    traces = figure.to_dict()["data"] if hasattr(figure, "to_dict") else figure.get("data", [])
    found = Places(np.empty((0, 2)), [], [], [], np.empty((0, 2, 2)))
    for trace in traces:
        points = _points(trace)
        if trace.get("mode") == "lines":
            # Each pair of ends is followed by a gap.
            found = found._replace(ends=points[: len(points) // 3 * 3].reshape(-1, 3, 2)[:, :2])
        elif trace.get("customdata") is not None:
            found.distilled.append(points)
            customdata = np.asarray(trace["customdata"], dtype=np.float64).reshape(len(points), -1)
            found.masses.append(customdata[:, 0] if len(points) else np.zeros(0))
        elif trace.get("legendgroup") is not None:
            found.corpus.append(points)
        else:
            found = found._replace(pool=points)
    return found if any(len(part) for part in found.distilled) else None


def coverage_map(
    found: Places, names: Sequence[str], spots: Sequence[Sequence[Spot]], height: int = 460
) -> Markup:
    """All layers, the distilled rows on top; each of them leads to its row further up the page.

    `spots` has the distilled rows by class, in the order of the distilled table.
    """
    every = np.concatenate([*found.corpus, *found.distilled, found.pool])
    (left, low), (right, high) = np.nanmin(every, axis=0), np.nanmax(every, axis=0)
    x, y = (_roomy(Scale(*ends)) for ends in ((left, right), (low, high)))

    def inner(points: Float64) -> NDArray[np.int64]:
        placed = np.column_stack(
            [[x.at(p) for p in points[:, 0]], [1 - y.at(p) for p in points[:, 1]]]
        )
        return np.round(GRID * placed).astype(np.int64)

    layers = [_dots(inner(_thinned(found.pool, _MOST_POOL)), "pool")]
    n_corpus = sum(map(len, found.corpus))
    for class_, points in enumerate(found.corpus):
        most = -(-_MOST_CORPUS * len(points) // max(n_corpus, 1))
        layers.append(_dots(inner(_thinned(points, most)), f"corpus c{class_ % COLOURS}"))
    for ends in found.ends:
        layers.append(path([tuple(end) for end in inner(ends)], "link"))
    heaviest = max((float(part.max()) for part in found.masses if len(part)), default=0.0) or 1.0
    rows = []
    for class_, (points, masses) in enumerate(zip(found.distilled, found.masses, strict=True)):
        for i, (point, mass) in enumerate(zip(points, masses, strict=True)):
            radius = _SMALLEST + (_LARGEST - _SMALLEST) * float(np.sqrt(mass / heaviest))
            spot = spots[class_][i] if class_ < len(spots) and i < len(spots[class_]) else None
            rows.append(
                (radius, _spot(at(x.at(point[0])), at(1 - y.at(point[1])), radius, class_, spot))
            )
    # The smallest last, so that none is hidden whole.
    on_top = [drawn for _, drawn in sorted(rows, key=lambda row: -row[0])]
    label = f"Map of {len(rows)} distilled rows among corpus rows of {len(names)} classes"
    keys = legend([*((name, _key(i)) for i, name in enumerate(names)), ("pool", "pool")])
    plot = chart([stretched(layers), *on_top], label, height=height)
    return keys + plot


def _points(trace: Mapping[str, Any]) -> Float64:
    columns = []
    for axis in "xy":
        values = trace.get(axis)
        # JSON has None where a line is interrupted.
        values = [] if values is None else [np.nan if v is None else v for v in values]
        columns.append(np.array(values, dtype=np.float64))
    return np.column_stack(columns)


def _thinned(points: Float64, most: int) -> Float64:
    """Evenly out of their order, which is that of a seeded draw."""
    if len(points) <= most:
        return points
    return points[np.linspace(0, len(points) - 1, most).astype(np.int64)]


def _roomy(scale: Scale) -> Scale:
    room = (scale.high - scale.low or 1) * 0.04
    return Scale(scale.low - room, scale.high + room)


def _dots(points: NDArray[np.int64], class_: str) -> Markup:
    """Many dots as one path: lines without length, of which the round ends are seen."""
    written = "".join(f"M{x} {y}h0" for x, y in np.unique(points, axis=0))
    return element("path", d=written, class_=f"dots {class_}") if written else Markup("")


def _key(label: int) -> str:
    shape = ("", "square", "diamond")[label // COLOURS % 3]
    return f"round c{label % COLOURS} {shape}".strip()


def _spot(x: str, y: str, radius: float, label: int, spot: Spot | None) -> Markup:
    class_ = f"spot c{label % COLOURS}"
    title = element("title", spot.title) if spot else Markup("")
    shape = label // COLOURS % 3
    if shape == 0:
        drawn = element("circle", title, cx=x, cy=y, r=f"{radius:.3g}", class_=class_)
    else:
        outline = element(
            "path",
            title,
            d=_SHAPES[shape - 1],
            transform=f"scale({0.9 * radius:.3g})",
            class_=class_,
        )
        drawn = element("svg", outline, x=x, y=y, overflow="visible")
    return element("a", drawn, href=f"#{spot.anchor}") if spot else drawn
