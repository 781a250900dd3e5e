"""The picture of a search says what its report says, and nothing of any text."""

from __future__ import annotations

import json

import pytest

from take.selection.selection_report import SearchStep, SelectionReport, search_figure


def make_report(n_steps: int) -> SelectionReport:
    steps = [
        SearchStep(
            sweep=sweep,
            swaps=5 * sweep,
            exam_loss_before=0.9 - 0.1 * sweep,
            exam_loss_after=0.8 - 0.1 * sweep,
            validation_loss=0.85 - 0.05 * sweep,
            validation_accuracy=0.6 + 0.1 * sweep,
            exam_rows=100,
        )
        for sweep in range(n_steps)
    ]
    return SelectionReport(
        selector="exam" if steps else "kmeans",
        scope="class",
        budget="5/class",
        rows=10,
        pool_rows=24,
        seed=0,
        tempering=1.0,
        figures={},
        steps=steps,
    )


@pytest.mark.parametrize("n_steps", [1, 4])
def test_every_sweep_is_drawn_as_it_went(n_steps: int) -> None:
    report = make_report(n_steps)
    figure = search_figure(report)
    drawn = {trace.name: trace for trace in figure.data}
    assert all(list(trace.x) == list(range(n_steps)) for trace in drawn.values())
    exam = drawn["exam rows: what the search lowers"]
    assert list(exam.y) == [step.exam_loss_after for step in report.steps]
    validation = drawn["validation rows: choose the sweep"]
    assert list(validation.y) == [step.validation_loss for step in report.steps]
    assert list(drawn["rows exchanged"].y) == [step.swaps for step in report.steps]
    shares = [100 * step.validation_accuracy for step in report.steps]
    assert list(drawn["validation accuracy, %"].y) == pytest.approx(shares)
    # Percent and rows have axes of their own, and both panels say what they show.
    assert drawn["validation accuracy, %"].yaxis != drawn["rows exchanged"].yaxis
    assert len(figure.layout.annotations) == 2
    assert json.loads(figure.to_json())["data"]


def test_a_selector_that_does_not_search_says_so() -> None:
    figure = search_figure(make_report(0))
    assert [note.text for note in figure.layout.annotations] == ["`kmeans` does not search"]
    assert not figure.data
    assert json.loads(figure.to_json())
