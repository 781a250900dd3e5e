from __future__ import annotations

import pytest

from take.evaluation.cells import cells_table
from take.evaluation.summary import summary_table
from take.evaluation.tables import readable_table
from tests.evaluation.made import cells_of, outcomes_of

INDEPENDENT = ("textcnn", "textrnn", "char_lr", "e5", "embedded_lm", "mine")
OWN = ("transformer", "lr_phi", "lr", "lr_rows")
# The mean, and what is added at each seed.
METHODS = {
    "full": (0.9, 0.0),
    "constant": (0.5, 0.0),
    "random": (0.6, 0.0),
    "close": (0.705, 0.03),
    "take": (0.7, 0.01),
}


def cells(learners=(*INDEPENDENT, *OWN), methods=METHODS, failed=(), **options):
    found = []
    for method, (mean, step) in methods.items():
        given = method in ("full", "constant")
        scores = [mean] if given else [mean - step, mean + step, mean]
        scores = [None if (method, seed) in failed else s for seed, s in enumerate(scores)]
        for learner in learners:
            title = f"the learner called {learner}, with a rather long title " * 2
            fields = {"independent": learner in INDEPENDENT, "learner_title": title, **options}
            found += cells_of(method, scores, learner=learner, **fields)
    return found


def table(*args, width=100, **options):
    made = cells(*args, **options)
    return readable_table(summary_table(cells_table(made), outcomes_of(made)), width)


def line(text, method):
    return next(one for one in text.splitlines() if one.startswith(f"{method} "))


@pytest.mark.parametrize("width", [60, 100])
def test_the_table_fits_the_width_with_any_number_of_learners(width):
    text = table(width=width)
    assert max(map(len, text.splitlines())) <= width
    for learner in (*INDEPENDENT, *OWN):
        assert f"the learner called {learner}" in " ".join(text.split())


def test_scores_and_marks_are_those_of_the_cells():
    text = table(["lr"])
    assert line(text, "random").split() == ["random", "3", "60.0", "±", "1.5", "▼"]
    assert line(text, "close").split() == ["close", "3", "70.5", "±", "2.2"]
    assert line(text, "take").split() == ["take", "3", "70.0", "±", "1.5"]
    assert line(text, "full").split()[-1] == "▲"
    assert line(text, "share kept").split()[2] == "50.0"


def test_both_metrics_and_both_kinds_of_learners_are_shown_apart():
    titles = [
        f"films, 20/class: {metric} in %, {kind}"
        for metric in ("accuracy", "macro F1")
        for kind in ("independent learners", "learners in the selector's feature spaces")
    ]
    text = table(["lr", "textcnn"])
    assert [one for one in text.splitlines() if one.startswith("films")] == titles
    first, second, *_ = text.split("films, 20/class")[1:]
    assert "textcnn" in first
    assert "lr" not in first.replace("selector", "")
    assert "lr" in second
    uneven = table(["lr"], metric="macro_f1")
    assert uneven.startswith("films, 20/class: macro F1 in %")
    assert "films, 20/class: accuracy in %" in uneven
    # Marks belong to the headline metric.
    assert uneven.index("▼") < uneven.index("accuracy in %") < uneven.rindex("▼ ▲")


def test_without_predictions_there_is_no_error_and_the_legend_says_why():
    text = readable_table(summary_table(cells_table(cells(["lr"]))))
    assert line(text, "take").split() == ["take", "3", "70.0"]
    assert "no ±" in text
    assert "no ±" not in table(["lr"])


def test_without_a_constant_there_is_no_row_for_the_share():
    text = table(["lr"], {name: METHODS[name] for name in ("full", "random", "take")})
    assert "share kept" not in text


def test_the_legend_says_if_no_difference_is_shown():
    text = table(["lr"], {name: METHODS[name] for name in ("close", "take")})
    assert "▼ ▲    nowhere: no method is shown to be below or above take at 95 %" in text


def test_failures_are_named():
    text = table(["lr"], failed={("take", 0), ("random", 0), ("random", 1), ("random", 2)})
    assert line(text, "random").split() == ["random", "–", "failed"]
    assert "failed  random with lr (3 of 3); take with lr (1 of 3)" in text


def test_an_empty_summary_says_so():
    assert "no scores" in readable_table(summary_table(cells_table([])))
