"""The coverage map: corpus, pool and distilled rows in the plane of most variance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from markupsafe import Markup
from numpy.typing import NDArray

from take.audit.release.charts import legend
from take.audit.release.charts_svg import GRID, Scale, at, chart, element, path, stretched

COLOURS = 10  # further classes repeat the colours with another shape
_MOST_CORPUS, _MOST_POOL = 2000, 1000  # points, of about ten bytes each
_SMALLEST, _LARGEST = 4.0, 15.0  # radii in pixels
_SHAPES = ("M-1-1H1V1H-1Z", "M0-1.35L1.35 0L0 1.35L-1.35 0Z")


class Spot(NamedTuple):
    """A distilled row on the map."""

    anchor: str
    title: str


def coverage_map(
    points: pd.DataFrame, names: Sequence[str], spots: Sequence[Spot], height: int = 460
) -> Markup:
    """All layers, the distilled rows on top; each of them links to its row further up the page.

    `points` is the table of `take.selection.describe.map`; `spots` has all distilled rows in order.
    """
    x, y = (_padded(points[axis]) for axis in "xy")

    def inner(part: pd.DataFrame) -> NDArray[np.int64]:
        placed = np.column_stack([[x.at(p) for p in part["x"]], [1 - y.at(p) for p in part["y"]]])
        return np.round(GRID * placed).astype(np.int64).reshape(-1, 2)

    pool, corpus, distilled = (
        points[points["kind"] == kind] for kind in ("pool", "corpus", "distilled")
    )
    layers = [_dots(inner(_thinned(pool, _MOST_POOL)), "pool")]
    for label in range(len(names)):
        mine = corpus[corpus["label"] == label]
        most = -(-_MOST_CORPUS * len(mine) // max(len(corpus), 1))
        layers.append(_dots(inner(_thinned(mine, most)), f"corpus c{label % COLOURS}"))
    linked = corpus[corpus["target"] >= 0]
    ends = zip(inner(linked), inner(distilled.set_index("row").loc[linked["target"]]), strict=True)
    layers += [path([tuple(start), tuple(stop)], "link") for start, stop in ends]
    heaviest = float(distilled["mass"].max()) or 1.0
    rows = []
    for row in distilled.sort_values("label", kind="stable").to_dict("records"):
        radius = _SMALLEST + (_LARGEST - _SMALLEST) * float(np.sqrt(row["mass"] / heaviest))
        spot = spots[row["row"]] if row["row"] < len(spots) else None
        place = at(x.at(row["x"])), at(1 - y.at(row["y"]))
        rows.append((radius, _spot(*place, radius, row["label"], spot)))
    # The smallest last, so that none is hidden whole.
    on_top = [drawn for _, drawn in sorted(rows, key=lambda row: -row[0])]
    label_ = f"Map of {len(rows)} distilled rows among corpus rows of {len(names)} classes"
    keys = legend([*((name, _key(i)) for i, name in enumerate(names)), ("pool", "pool")])
    return keys + chart([stretched(layers), *on_top], label_, height=height)


def _thinned(points: pd.DataFrame, most: int) -> pd.DataFrame:
    """Evenly along their order, which is that of a seeded draw."""
    if len(points) <= most:
        return points
    return points.iloc[np.linspace(0, len(points) - 1, most).astype(np.int64)]


def _padded(values: pd.Series) -> Scale:
    low, high = float(values.min()), float(values.max())
    margin = (high - low or 1) * 0.04
    return Scale(low - margin, high + margin)


def _dots(points: NDArray[np.int64], class_: str) -> Markup:
    """Many dots as one path: lines without length, whose round caps are visible."""
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
