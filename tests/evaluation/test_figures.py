from __future__ import annotations

import json

import pytest

from take.evaluation.cells import CellResult, cells_table
from take.evaluation.figures import budget_figure, margins_figure, scores_figure
from take.evaluation.summary import comparisons_table, summary_table

# How far seeds move each: eda by more than it differs from take.
WOBBLE = {"eda": 0.02, "random": 0.003}
METHODS = {"full": 0.9, "random": 0.6, "eda": 0.7, "take": 0.7, "take_swap": 0.69}
BUDGETS = {"5/class": 10, "20/class": 40}


def cells(budgets=BUDGETS, methods=METHODS):
    return cells_table(
        CellResult(
            corpus="films",
            budget=budget,
            method=method,
            learner="lr",
            set_seed=seed,
            training_seed=0,
            accuracy=mean + 0.001 * rows + WOBBLE.get(method, 0.002) * (-1) ** seed,
            set_digest=f"{budget}{method}{seed}",
            rows=1000 if method == "full" else rows * (10 if method == "eda" else 1),
        )
        for budget, rows in budgets.items()
        for method, mean in methods.items()
        for seed in range(1 if method == "full" else 4)
    )


@pytest.fixture(scope="module")
def summary():
    return summary_table(cells(), {})


def test_a_curve_is_over_the_rows_of_its_budgets(summary):
    lines = {line.name: line for line in budget_figure(summary).data}
    assert list(lines["take"].x) == [10, 40]
    assert list(lines["eda"].x) == [10, 40]  # of its tenfold rows, those of the budget
    assert list(lines["take"].y) == pytest.approx([71, 74])
    assert lines["take"].error_y.array[0] == pytest.approx(0.1155, abs=1e-4)
    assert lines["take_swap"].visible == "legendonly"


def test_margins_are_those_of_the_compared_method():
    (heat,) = margins_figure(comparisons_table(cells(), {})).data
    places = {name: n for n, name in enumerate(heat.y)}
    assert heat.z[places["random"]][0] == pytest.approx(10)
    assert heat.text[places["random"]][0] == "+10.0"
    # Its interval includes 0.
    assert heat.text[places["eda"]][0].startswith("(")
    assert "take" not in places


def test_comparisons_of_two_methods_show_take():
    both = cells(methods=METHODS | {"distilled": 0.65})
    (heat,) = margins_figure(comparisons_table(both, {})).data
    places = {name: n for n, name in enumerate(heat.y)}
    assert heat.z[places["random"]][0] == pytest.approx(10)
    assert heat.z[places["distilled"]][0] == pytest.approx(5)


def test_dots_are_open_if_no_difference_is_shown():
    summary = summary_table(cells({"20/class": 40}), {})
    (dots,) = scores_figure(summary).data
    symbols = dict(zip(dots.y, dots.marker.symbol, strict=True))
    assert symbols == {
        "full": "circle",
        "random": "circle",
        "eda": "circle-open",
        "take": "circle",
    }
    assert dots.x[list(dots.y).index("take")] == pytest.approx(74)


def test_empty_figures_say_what_is_missing():
    nothing = summary_table(cells_table([]), {})
    only_random = cells({"5/class": 10}, {"random": 0.6})
    alone = summary_table(only_random, {})
    expected = {
        "two budgets or more": (budget_figure(nothing), budget_figure(alone)),
        "neither take nor distilled": tuple(
            margins_figure(comparisons_table(table, {})) for table in (cells_table([]), only_random)
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
    margins = margins_figure(comparisons_table(cells(), {}))
    assert json.loads(margins.to_json())["data"]
