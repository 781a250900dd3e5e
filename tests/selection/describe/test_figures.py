from __future__ import annotations

import json

import numpy as np
import pytest

from take.selection.describe.curve import CurveOptions, budget_curve
from take.selection.describe.distillation_report import Knee
from take.selection.describe.figures import coverage_figure, curve_figure, transport_figure
from take.selection.describe.indicators import random_choice
from take.selection.describe.lineage import trace
from take.selection.describe.map import map_coordinates
from tests.selection.describe.distillations import NAMES, distances_of, make_distillation


def named(figure, start):
    return [trace for trace in figure.data if str(trace.name).startswith(start)]


def marks_at(figure):
    """Where vertical lines stand, panel by panel."""
    return [(shape.x0, shape.xref) for shape in figure.layout.shapes]


def test_the_map_sizes_rows_by_their_mass():
    made = make_distillation()
    found = trace(made)
    figure = transport_figure(map_coordinates(made, found), NAMES)
    sizes = np.concatenate([each.marker.size for each in figure.data if "distilled" in each.name])
    order = np.concatenate([np.flatnonzero(made.target_labels == label) for label in range(3)])
    np.testing.assert_array_equal(np.argsort(sizes), np.argsort(found.assigned[order]))
    assert sizes.max() == pytest.approx(30)
    colours = {each.marker.color for each in figure.data if "distilled" in each.name}
    assert len(colours) == 3
    assert "12 distilled rows stand for 240 training rows" in figure.layout.title.text
    assert "of variance" in figure.layout.xaxis.title.text


def test_the_coordinates_hold_every_distilled_row_and_all_mass():
    made = make_distillation()
    found = map_coordinates(made, trace(made))
    distilled = found[found["kind"] == "distilled"]
    assert distilled["label"].tolist() == made.target_labels.tolist()
    assert distilled["mass"].sum() == pytest.approx(1)
    assert distilled["rows"].sum() == len(made.labels)
    assert found["mass"].sum() == pytest.approx(1)
    assert np.isfinite(found[["x", "y"]].to_numpy()).all()
    linked = found[found["target"] >= 0]
    assert set(linked["kind"]) == {"corpus"}
    assert linked["target"].max() < len(distilled)


def test_lines_lead_from_a_row_to_the_row_it_is_assigned_to():
    made = make_distillation()
    found = trace(made)
    figure = transport_figure(map_coordinates(made, found), NAMES)
    (lines,) = named(figure, "assigned to")
    ends = np.stack([lines.x, lines.y], axis=1).reshape(-1, 3, 2)
    assert np.isnan(ends[:, 2]).all()
    points = {
        label: np.stack([each.x, each.y], axis=1)
        for label, name in enumerate(NAMES)
        for each in figure.data
        if each.name.startswith(f"{name} (")
    }
    corpus = {label: named(figure, name)[0] for label, name in enumerate(NAMES)}
    followed = 0
    for label in range(3):
        places = np.stack([corpus[label].x, corpus[label].y], axis=1)
        rows = np.flatnonzero(made.labels == label)
        targets = np.flatnonzero(made.target_labels == label)
        for start, stop in ends[:, :2]:
            at = np.flatnonzero((places == start).all(axis=1))
            for row in rows[at]:
                place = np.flatnonzero(targets == found.main_target[row])[0]
                np.testing.assert_array_equal(points[label][place], stop)
                followed += 1
    assert followed == len(ends) == 150


def test_no_figure_grows_with_the_corpus():
    small, large = make_distillation(n_rows=6000), make_distillation(n_rows=24_000)
    for make in (
        lambda made: transport_figure(map_coordinates(made, trace(made)), NAMES),
        lambda made: coverage_figure(
            made.cover(), made.cover(random_choice(made, 0)), made.labels, NAMES
        ),
    ):
        sizes = [len(make(made).to_json()) for made in (small, large)]
        assert sizes[1] < 1.2 * sizes[0]


def test_coverage_is_counted_marked_and_compared_with_random_rows():
    made = make_distillation()
    covered, chance = made.cover(), made.cover(random_choice(made, 0))
    figure = coverage_figure(covered, chance, made.labels, NAMES)
    bars = {trace.name: trace for trace in figure.data if trace.type == "bar"}
    assert set(bars) == {"random choice", "distilled rows"}
    for bar in bars.values():
        assert sum(bar.y) == pytest.approx(1)
    distances = distances_of(made)
    own = np.where(made.labels[:, None] == made.target_labels[None], distances, np.inf).min(axis=1)
    expected = [own.mean(), *np.quantile(own, [0.95, 0.99])]
    assert [x for x, _ in marks_at(figure)] == pytest.approx(expected, rel=1e-5)
    means = {label: own[made.labels == label].mean() for label in range(3)}
    farthest = max(means, key=lambda label: means[label])
    assert figure.layout.yaxis2.ticktext[0] == NAMES[farthest]
    assert f"{own.mean():.3f}" in figure.layout.title.text


def test_classes_without_corpus_rows_are_left_out():
    made = make_distillation()
    figure = coverage_figure(made.cover(), made.cover(), made.labels, [*NAMES, "empty"])
    assert set(figure.layout.yaxis2.ticktext) == set(NAMES)


def test_the_curve_marks_its_knee_and_the_budget_taken():
    made = make_distillation()
    curve = budget_curve(made, CurveOptions(largest=10, w1_points=3))
    knee = Knee(k=3, depth=0.4, sentence="A suggestion about coverage, not about accuracy.")
    figure = curve_figure(type(curve)(**{**curve.__dict__, "knee": knee}), 5, chosen_cost=0.2)
    (at_knee,), (taken,) = named(figure, "knee"), named(figure, "chosen")
    assert (at_knee.x[0], at_knee.y[0]) == (3, pytest.approx(curve.table["cost"].iloc[2]))
    assert (taken.x[0], taken.y[0]) == (5, 0.2)
    assert [x for x, _ in marks_at(figure)] == [3, 3, 5, 5]
    (w1,) = named(figure, "W₁")
    assert list(w1.x) == [1, 3, 10]
    assert "bends at 3 rows per class" in figure.layout.title.text
    assert "not about accuracy" in figure.layout.title.text
    assert "rows per class" in figure.layout.xaxis.title.text


def test_a_budget_beyond_the_curve_and_no_knee_are_drawn_as_such():
    made = make_distillation(scope="global")
    curve = budget_curve(made, CurveOptions(largest=2))
    figure = curve_figure(curve, 40)
    assert marks_at(figure) == []
    assert "No budget stands out" in figure.layout.title.text
    assert "rows in total" in figure.layout.xaxis.title.text


def test_the_figures_are_json():
    made = make_distillation()
    for figure in (
        transport_figure(map_coordinates(made, trace(made)), NAMES),
        coverage_figure(made.cover(), made.cover(), made.labels, NAMES),
        curve_figure(budget_curve(made, CurveOptions(largest=3)), 2),
    ):
        assert json.loads(figure.to_json())["layout"]["title"]["text"]
