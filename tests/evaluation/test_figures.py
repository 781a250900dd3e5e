from __future__ import annotations

import json
from math import sqrt

import pytest

from take.evaluation.cells import CellResult, cells_table
from take.evaluation.figures import budget_figure, margins_figure, scores_figure
from take.evaluation.summary import comparisons_table, summary_table
from tests.evaluation.made import cells_of, outcomes_of

# How far seeds move each: eda by more than it differs from take.
WOBBLE = {"eda": 0.02, "random": 0.003}
METHODS = {"full": 0.9, "random": 0.6, "eda": 0.7, "take": 0.7, "take_swap": 0.69}
BUDGETS = {"5/class": 10, "20/class": 40}


def cells(budgets=BUDGETS, methods=METHODS, learners=("lr",)) -> list[CellResult]:
    found = []
    for budget, rows in budgets.items():
        for method, mean in methods.items():
            wobble = WOBBLE.get(method, 0.002)
            n_sets = 1 if method == "full" else 4
            for learner in learners:
                made = cells_of(
                    method,
                    [mean + 0.001 * rows + wobble * (-1) ** seed for seed in range(n_sets)],
                    learner=learner,
                    budget=budget,
                    rows=1000 if method == "full" else rows * (10 if method == "eda" else 1),
                    independent=learner != "lr",
                )
                found += made
    return found


def summarised(made):
    return summary_table(cells_table(made), outcomes_of(made))


def compared(made):
    return comparisons_table(cells_table(made), outcomes_of(made))


@pytest.fixture(scope="module")
def summary():
    return summarised(cells())


def test_a_curve_is_over_the_rows_of_its_budgets(summary):
    lines = {line.name: line for line in budget_figure(summary).data}
    assert list(lines["take"].x) == [10, 40]
    assert list(lines["eda"].x) == [10, 40]  # of its tenfold rows, those of the budget
    assert list(lines["take"].y) == pytest.approx([71, 74])
    assert lines["take"].error_y.array[0] == pytest.approx(100 * sqrt(0.71 * 0.29 / 1000), rel=0.1)
    assert lines["take_swap"].visible == "legendonly"


def test_margins_are_those_of_the_compared_method():
    (heat,) = margins_figure(compared(cells())).data
    places = {name: n for n, name in enumerate(heat.y)}
    assert heat.z[places["random"]][0] == pytest.approx(10)
    assert heat.text[places["random"]][0] == "+10.0"
    # Its interval includes 0.
    assert heat.text[places["eda"]][0].startswith("(")
    assert "take" not in places


def test_comparisons_of_two_methods_show_take():
    both = cells(methods=METHODS | {"distilled": 0.65})
    (heat,) = margins_figure(compared(both)).data
    places = {name: n for n, name in enumerate(heat.y)}
    assert heat.z[places["random"]][0] == pytest.approx(10)
    assert heat.z[places["distilled"]][0] == pytest.approx(5)


def test_dots_are_open_if_no_difference_is_shown():
    summary = summarised(cells({"20/class": 40}))
    (dots,) = scores_figure(summary).data
    symbols = dict(zip(dots.y, dots.marker.symbol, strict=True))
    assert symbols == {
        "full": "circle",
        "random": "circle",
        "eda": "circle-open",
        "take": "circle",
    }
    assert dots.x[list(dots.y).index("take")] == pytest.approx(74)


def test_kinds_of_learners_are_apart_and_named():
    made = cells({"20/class": 40}, learners=("lr", "textcnn"))
    titles = [note.text for note in scores_figure(summarised(made)).layout.annotations]
    assert titles == ["textcnn<br>independent", "lr<br>selector's features"]
    margins = margins_figure(compared(made))
    assert list(margins.layout.xaxis.ticktext) == ["textcnn", "lr"]
    assert [note.text for note in margins.layout.annotations] == [
        "films<br>20/class<br>independent",
        "films<br>20/class<br>selector's features",
    ]
    curves = budget_figure(summarised(cells(learners=("lr", "textcnn"))))
    assert [note.text for note in curves.layout.annotations] == [
        "films, textcnn<br>independent",
        "films, lr<br>selector's features",
    ]


def test_empty_figures_say_what_is_missing():
    nothing = summarised([])
    only_random = cells({"5/class": 10}, {"random": 0.6})
    alone = summarised(only_random)
    expected = {
        "two budgets or more": (budget_figure(nothing), budget_figure(alone)),
        "neither take nor distilled": tuple(
            margins_figure(compared(made)) for made in ([], only_random)
        ),
        "no cell was evaluated": (scores_figure(nothing),),
    }
    for text, figures in expected.items():
        for figure in figures:
            assert text in figure.layout.annotations[0].text
            assert not figure.data


def test_figures_can_be_stored(summary):
    for figure in (budget_figure(summary), scores_figure(summary)):
        assert json.loads(figure.to_json())["data"]
    margins = margins_figure(compared(cells()))
    assert json.loads(margins.to_json())["data"]
