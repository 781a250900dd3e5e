from __future__ import annotations

import pytest

from take.evaluation.cells import CellResult, cells_table
from take.evaluation.summary import summary_table
from take.evaluation.tables import readable_table

LEARNERS = ("lr", "lr_rows", "lr_phi", "textcnn", "textrnn", "transformer", "embedded_lm", "mine")
# The mean, and what is added at each seed.
METHODS = {"full": (0.9, 0.0), "random": (0.6, 0.0), "close": (0.705, 0.03), "take": (0.7, 0.01)}


def cells(learners=LEARNERS, methods=METHODS, failed=()):
    return [
        CellResult(
            corpus="films",
            budget="20/class",
            method=method,
            learner=learner,
            set_seed=seed,
            training_seed=0,
            accuracy=None if (method, seed) in failed else mean + step * sign,
            error="broken" if (method, seed) in failed else None,
            set_digest=f"{method}{0 if method == 'full' else seed}",
            evaluation_rows=872,
            learner_title=f"the learner called {learner}, with a rather long title " * 2,
        )
        for method, (mean, step) in methods.items()
        for learner in learners
        for seed, sign in enumerate((-1, 1, 0))
    ]


def table(*args, **options):
    return readable_table(summary_table(cells_table(cells(*args, **options)), {}))


def line(text, method):
    return next(one for one in text.splitlines() if one.startswith(f"{method} "))


@pytest.mark.parametrize("width", [60, 100])
def test_the_table_fits_the_width_with_any_number_of_learners(width):
    text = readable_table(summary_table(cells_table(cells()), {}), width)
    assert max(map(len, text.splitlines())) <= width
    for learner in LEARNERS:
        assert f"the learner called {learner}" in " ".join(text.split())


def test_scores_and_marks_are_those_of_the_cells():
    text = table(["lr"])
    assert line(text, "random").split() == ["random", "3", "60.0", "±", "0.0", "▼"]
    assert line(text, "close").split() == ["close", "3", "70.5", "±", "1.7"]
    assert line(text, "take").split() == ["take", "3", "70.0", "±", "0.6"]
    assert "77.8 %" in line(text, "take / full")


def test_one_observation_has_no_error():
    text = table(["lr"])
    assert line(text, "full").split() == ["full", "1", "×", "3", "90.0", "▲"]
    assert "no ±" in text


def test_without_full_data_there_is_no_row_for_the_share():
    text = table(["lr"], {name: METHODS[name] for name in ("random", "take")})
    assert "/ full" not in text


def test_the_legend_says_if_no_difference_is_shown():
    text = table(["lr"], {name: METHODS[name] for name in ("close", "take")})
    assert "▼ ▲    nowhere: no method is shown to be below or above take at 95 %" in text


def test_failures_are_named():
    text = table(["lr"], failed={("take", 0), ("random", 0), ("random", 1), ("random", 2)})
    assert line(text, "random").split() == ["random", "–", "failed"]
    assert "failed  random with lr (3 of 3); take with lr (1 of 3)" in text


def test_an_empty_summary_says_so():
    assert "no scores" in readable_table(summary_table(cells_table([]), {}))
