"""The charts: where things are drawn, and that every name in them is escaped."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from take.audit.release.charts import (
    GRID,
    Mark,
    Row,
    Scale,
    Series,
    Tick,
    bar,
    bars,
    curve,
    histogram,
    intervals,
    log_ticks,
    round_ticks,
)
from take.audit.release.charts_map import coverage_map

NASTY = """<script>alert("1")</script> & 'so'"""


def parsed(markup: str) -> ElementTree.Element:
    """Well-formed, or an error."""
    return ElementTree.fromstring(f"<root>{markup}</root>")


def of_class(root: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [one for one in root.iter() if name in (one.get("class") or "").split()]


def test_histogram_shows_shares_of_each_series() -> None:
    drawn = histogram([0, 1, 2], [Series("a", [1, 3]), Series("b", [300, 100], "reference")], "x")
    ours, reference = (of_class(parsed(drawn), name)[-1].get("d") for name in ("ours", "reference"))
    heights = [
        sorted({round(GRID - float(y)) for y in re.findall(r"[\d.]+ ([\d.]+)", str(path))})
        for path in (ours, reference)
    ]
    assert heights[0] == heights[1]  # 25 % and 75 %, the other way round
    assert heights[0][2] == pytest.approx(3 * heights[0][1], abs=2)


def test_curve_marks_the_chosen_point_where_it_is() -> None:
    drawn = curve([1, 10, 100], [Series("cost", [3, 2, 1])], "rows", "cost", [(10, 2.0, "chosen")])
    (dot,) = of_class(parsed(drawn), "chosen")
    assert (dot.get("cx"), dot.get("cy")) == ("50%", "50%")


def test_curve_of_one_budget_and_gaps() -> None:
    parsed(curve([1], [Series("cost", [2.0])], "rows", "cost", [(1, 2.0, "chosen")]))
    gappy = curve([1, 2, 4], [Series("w1", [3.0, float("nan"), 1.0])], "rows", "distance")
    assert "nan" not in gappy


def test_a_budget_beyond_the_curve_stays_in_the_picture() -> None:
    drawn = curve([1, 2], [Series("cost", [3, 2])], "rows", "cost", [(8, 1.5, "chosen")])
    (dot,) = of_class(parsed(drawn), "chosen")
    assert dot.get("cx") == "100%"


def test_intervals_end_in_arrows_where_they_go_on() -> None:
    scale = Scale(0.5, 2, log=True)
    rows = [Row("bounded", 1, 0.8, 1.2), Row("open", 1, 0.8, None), Row("far", 1, 0.01, 9)]
    lines = parsed(intervals(rows, scale, [Tick(1, "1")], "ratio"))[0]
    arrows = [len(of_class(line, "arrow")) for line in lines[:3]]
    assert arrows == [0, 1, 2]
    (dot,) = of_class(lines[0], "dot")
    assert dot.get("cx") == "50%"


def test_a_value_beyond_the_axis_is_not_drawn_elsewhere() -> None:
    lines = parsed(intervals([Row("x", 50, None, None, "50 ×")], Scale(0, 5), [], "ratio"))[0]
    assert not of_class(lines[0], "dot")
    assert "50 ×" in ElementTree.tostring(lines[0], encoding="unicode")


@pytest.mark.parametrize(("part", "width"), [(0.5, "50"), (7, "100"), (-1, "0")])
def test_bars_stay_in_their_track(part: float, width: str) -> None:
    assert f"width:{width}%" in bar(part)


def test_all_names_are_escaped() -> None:
    found = points(pool=[(0, 0, 0)], corpus=[(1, 1, 0), (1, 1, 0)], distilled=[(0, 0, 0)])
    for drawn in (
        histogram([0, 1], [Series(NASTY, [1]), Series("b", [1])], NASTY, [Mark(0.5, NASTY)]),
        curve([1, 2], [Series(NASTY, [1, 2]), Series("b", [1, 2])], NASTY, NASTY, [(1, 1, NASTY)]),
        intervals([Row(NASTY, 1, 0, 2, NASTY)], Scale(0, 2), [Tick(1, NASTY)], NASTY),
        bars([(NASTY, 1, NASTY)]),
        coverage_map(found, [NASTY], [NASTY]),
    ):
        root = parsed(drawn)
        assert "script" not in {one.tag for one in root.iter()}
        shown = "".join(root.itertext()) + " ".join(
            value for one in root.iter() for value in one.attrib.values()
        )
        assert NASTY in shown


def points(**kinds: list[tuple[float, float, int]]) -> pd.DataFrame:
    """A map of some points (x, y, label) by kind; distilled rows weigh 0.1, 0.9, 0.9, …"""
    rows = [
        {"kind": kind, "x": x, "y": y, "label": label, "row": row, "target": -1}
        | {"mass": (0.9 if row else 0.1) * (kind == "distilled")}
        for kind, its in kinds.items()
        for row, (x, y, label) in enumerate(its)
    ]
    return pd.DataFrame(rows)


def test_links_lead_to_the_distilled_row_of_a_corpus_row() -> None:
    found = points(corpus=[(0, 0, 0), (1, 1, 0)], distilled=[(0, 1, 0), (1, 0, 0)])
    found.loc[1, "target"] = 1
    links = of_class(parsed(coverage_map(found, ["a"], [])), "link")
    assert len(links) == 1
    ends = (links[0].get("d") or "").removeprefix("M").split("L")
    start, stop = ([float(number) for number in end.split()] for end in ends)
    assert start[0] == stop[0]
    assert start[1] < stop[1]


def test_map_grows_little_with_the_corpus() -> None:
    random = np.random.default_rng(0)
    few = points(distilled=[(0, 0, 0), (0, 0, 1)])
    many = pd.DataFrame(random.standard_normal((400_000, 2)), columns=["x", "y"])
    many = many.assign(kind="corpus", label=np.arange(400_000) % 2, row=0, target=-1, mass=0.0)
    found = pd.concat([few, many, many.assign(kind="pool")])
    assert len(coverage_map(found, ["a", "b"], [])) < 60_000


def test_heavier_rows_are_larger_and_none_covers_a_smaller_one() -> None:
    found = points(corpus=[(0, 0, 0), (1, 1, 0)], distilled=[(0.5, 0.5, 0), (0.5, 0.5, 0)])
    radii = [
        float(one.get("r") or 0) for one in of_class(parsed(coverage_map(found, ["a"], [])), "spot")
    ]
    assert radii == sorted(radii, reverse=True)
    assert radii[0] > radii[1]


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0.52, 0.77), (-3, 8), (1e-4, 2e-4), (0, 12345)])
def test_ticks_are_few_round_and_inside(low: float, high: float) -> None:
    ticks = round_ticks(low, high)
    assert 2 <= len(ticks) <= 7
    assert all(low - 1e-9 <= tick.value <= high + 1e-9 for tick in ticks)
    assert len({tick.name for tick in ticks}) == len(ticks)


def test_ticks_of_many_decades_are_thinned() -> None:
    assert [tick.name for tick in log_ticks(1, 10_000)] == ["1", "10", "100", "1,000", "10,000"]
