"""The coverage map: corpus, pool and distilled rows in the plane of most variance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from markupsafe import Markup

from take.audit.release.charts import GRID, Dot, Scale, draw, path

COLOURS = 10  # further classes repeat the colours with another shape
_MOST_CORPUS, _MOST_POOL = 2000, 1000  # points, of about ten bytes each
_SMALLEST, _LARGEST = 4.0, 15.0  # radii in pixels
_SHAPES = (  # class of the key, outline
    ("", None),
    ("square", "M-1-1H1V1H-1Z"),
    ("diamond", "M0-1.35L1.35 0L0 1.35L-1.35 0Z"),
)


def coverage_map(
    points: pd.DataFrame, names: Sequence[str], titles: Sequence[str], height: int = 460
) -> Markup:
    """All layers, the distilled rows on top; each of them links to its row further up the page.

    `points` is the table of `take.selection.describe.map`; `titles` are of all distilled rows.
    """
    x, y = (_padded(points[axis]) for axis in "xy")

    def places(part: pd.DataFrame) -> list[tuple[float, float]]:
        """To the unit of the inner SVG."""
        ends = zip(part["x"], part["y"], strict=True)
        return [(round(x.at(a), 3), round(1 - y.at(b), 3)) for a, b in ends]

    def dots(part: pd.DataFrame, most: int, class_: str) -> tuple[str, str]:
        """Many dots as one path: lines without length, whose round caps are visible."""
        if len(part) > most:  # thinned evenly along their order, which is that of a seeded draw
            part = part.iloc[np.linspace(0, len(part) - 1, most).astype(np.int64)]
        placed = np.round(GRID * np.array(places(part)).reshape(-1, 2)).astype(np.int64)
        return "".join(f"M{a} {b}h0" for a, b in np.unique(placed, axis=0)), f"dots {class_}"

    pool, corpus, distilled = (
        points[points["kind"] == kind] for kind in ("pool", "corpus", "distilled")
    )
    shapes = [dots(pool, _MOST_POOL, "pool")]
    for label in range(len(names)):
        mine = corpus[corpus["label"] == label]
        most = -(-_MOST_CORPUS * len(mine) // max(len(corpus), 1))
        shapes.append(dots(mine, most, f"corpus c{label % COLOURS}"))
    linked = corpus[corpus["target"] >= 0]
    ends = places(linked), places(distilled.set_index("row").loc[linked["target"]])
    shapes += [(path(link), "link") for link in zip(*ends, strict=True)]
    heaviest = float(distilled["mass"].max()) or 1.0
    rows = []
    for row in distilled.sort_values("label", kind="stable").to_dict("records"):
        radius = _SMALLEST + (_LARGEST - _SMALLEST) * float(np.sqrt(row["mass"] / heaviest))
        title = anchor = None
        if row["row"] < len(titles):
            title, anchor = titles[row["row"]], f"row-{row['row'] + 1}"
        class_, outline = f"spot c{row['label'] % COLOURS}", _SHAPES[row["label"] // COLOURS % 3][1]
        place = x.at(row["x"]), 1 - y.at(row["y"])
        rows.append(Dot(*place, radius, class_, title=title, anchor=anchor, outline=outline))
    keys = [
        (name, f"round c{i % COLOURS} {_SHAPES[i // COLOURS % 3][0]}".strip())
        for i, name in enumerate(names)
    ]
    return draw(
        "plot",
        f"Map of {len(rows)} distilled rows among corpus rows of {len(names)} classes",
        height,
        [*keys, ("pool", "pool")],
        shapes,
        # The smallest last, so that none is hidden whole.
        dots=sorted(rows, key=lambda row: -row.r),
    )


def _padded(values: pd.Series) -> Scale:
    low, high = float(values.min()), float(values.max())
    margin = (high - low or 1) * 0.04
    return Scale(low - margin, high + margin)
